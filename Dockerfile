# Kibitz in a container. `docker build --target cpu -t kibitz:cpu .` or `--target cuda -t kibitz:cuda`.
# docs/install.md says how it is run, compose.yaml runs a small learning farm.

FROM python:3.13-slim AS build
WORKDIR /kibitz
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

# What both images have: a user without rights, and folders for data and compiled kernels.
FROM python:3.13-slim AS base
RUN useradd --create-home --uid 1000 kibitz && mkdir /data && chown kibitz /data
ENV KIBITZ_DATA=/data KIBITZ_CACHE=/data/cache PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
COPY --from=build /wheels /wheels
WORKDIR /data
VOLUME /data
ENTRYPOINT ["kibitz"]
CMD ["doctor"]

# torch's CPU build spares gigabytes. The extras come from the wheel's own list.
FROM base AS cpu
RUN pip install torch --index-url https://download.pytorch.org/whl/cpu \
    && wheel=$(ls /wheels/kibitz-*.whl) \
    && pip install "${wheel}[train,tune,web,lichess,coach,mcp,cloud,parquet]"
USER kibitz

# torch from PyPI brings its own CUDA; the host needs NVIDIA's driver and container toolkit.
FROM base AS cuda
RUN wheel=$(ls /wheels/kibitz-*.whl) \
    && pip install "${wheel}[train,tune,web,lichess,coach,mcp,cloud,parquet]" \
    && pip uninstall --yes onnxruntime && pip install onnxruntime-gpu
USER kibitz
