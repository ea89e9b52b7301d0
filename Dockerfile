# Builds the service and runs it as a user without privileges.
FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      libcurl4-openssl-dev libmicrohttpd-dev libsqlite3-dev libssl-dev libkrb5-dev libpsl-dev \
      zlib1g-dev libbrotli-dev libzstd-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY Package.swift openapi.yaml ./
COPY Sources Sources
COPY Tests Tests
RUN swift build -c release --product ferry \
    && install -D -m 0755 "$(swift build -c release --show-bin-path)/ferry" /out/ferry

# Debian 12 with Swift's run-time libraries.
FROM swift:6.3-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
      libcurl4 libmicrohttpd12 libsqlite3-0 libssl3 libgssapi-krb5-2 libpsl5 \
      zlib1g libbrotli1 libzstd1 ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/ferry --create-home ferry
COPY --from=build /out/ferry /usr/local/bin/ferry
USER ferry
VOLUME /var/lib/ferry
EXPOSE 8080
ENV FERRY_LISTEN=0.0.0.0:8080 FERRY_DATA_DIRECTORY=/var/lib/ferry
# Beyond loopback the service wants a token: mount a file and name it in FERRY_TOKEN_FILE.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD curl -fsS http://127.0.0.1:8080/livez || exit 1
ENTRYPOINT ["ferry"]
CMD ["serve"]
