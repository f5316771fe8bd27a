# oda with the reference applications. For your own: FROM this image, and COPY your agents and
# config into /srv.

FROM python:3.11-slim-bookworm AS build
RUN pip install --no-cache-dir "uv==0.13.9"
WORKDIR /src
COPY pyproject.toml uv.lock README.md ./
COPY oda oda
ENV UV_PROJECT_ENVIRONMENT=/opt/oda UV_LINK_MODE=copy
RUN uv sync --frozen --no-dev --no-editable --all-extras --compile-bytecode

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /data --no-create-home oda \
    && install -d -o oda /data /workspaces
COPY --from=build /opt/oda /opt/oda
WORKDIR /srv
COPY agents agents
COPY mcp_tools mcp_tools
COPY config config
ENV PATH=/opt/oda/bin:$PATH \
    PYTHONPATH=/srv \
    PYTHONUNBUFFERED=1 \
    ODA_HOST=0.0.0.0 \
    ODA_PORT=8000 \
    ODA_DATA_DIR=/data \
    ODA_LOG_FORMAT=json
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"ODA_PORT\"]}/livez', timeout=4)"]
ENTRYPOINT ["oda"]
CMD ["serve"]
