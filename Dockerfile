# Stiction with compiled kernels: docker build -t stiction .
# docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" stiction run slip-wave
#
# The kernels are compiled for a kind of processor that most have (x86-64-v3, arm64), so that they serve
# where the image runs, not only where it was built.

FROM python:3.12-slim AS build
WORKDIR /source
COPY . .
RUN python -m pip install --no-cache-dir --constraint tools/constraints.txt ".[wheel]" \
 && python tools/wheel.py /wheels

FROM python:3.12-slim
LABEL org.opencontainers.image.title="stiction" \
      org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.url="https://example.org/stiction"
COPY --from=build /wheels /wheels
COPY tools/constraints.txt /wheels/
RUN python -m pip install --no-cache-dir --constraint /wheels/constraints.txt /wheels/*.whl \
 && rm -r /wheels \
 && useradd --create-home user \
 && mkdir /data && chmod 1777 /data
ENV MPLCONFIGDIR=/tmp/matplotlib
USER user
WORKDIR /data
# an image that cannot solve is not built
RUN stiction doctor --quiet && stiction run slip-wave --no-figures --quiet --out /tmp/first && rm -r /tmp/first
ENTRYPOINT ["stiction"]
CMD ["--help"]
