# How it is built and run, and what was tried: docs/operations.md, "In a container". For linux/amd64
# and linux/arm64: `docker buildx build --platform linux/amd64,linux/arm64 .` The first two stages
# run on the machine that builds, whatever the image is for: nothing compiles under emulation.
# Debian 13 has the glibc (2.38 or newer) that the newest HTTP engine needs.
FROM --platform=$BUILDPLATFORM node:22.23.3-trixie-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --include=dev --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build

FROM --platform=$BUILDPLATFORM node:22.23.3-trixie-slim AS packages
ARG TARGETARCH
# 1: the image needs a ClickHouse of your own, if there is no embedded one for its processor.
ARG WITHOUT_CLICKHOUSE=
WORKDIR /opt/sluice
COPY package.json package-lock.json scripts/install-for-image.sh ./
RUN sh install-for-image.sh "$TARGETARCH"

FROM node:22.23.3-trixie-slim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="Log ingest and search service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
# As `npm start` sets them: glibc would otherwise keep what large requests took.
ENV NODE_ENV=production \
    MALLOC_MMAP_THRESHOLD_=270336 \
    MALLOC_TRIM_THRESHOLD_=1048576 \
    SLUICE_HOST=0.0.0.0 \
    SLUICE_DATA=/var/lib/sluice
# 1000 is the user "node" of the image. All else is root's: the service cannot change its own code.
RUN install -d -o 1000 -g 1000 -m 700 /var/lib/sluice
WORKDIR /opt/sluice
COPY --from=packages /opt/sluice/node_modules ./node_modules
COPY package.json LICENSE scripts/healthcheck.mjs ./
COPY --from=build /src/dist/src ./dist/src
COPY --from=build /src/dist/workers ./dist/workers
COPY --from=build /src/dist/www ./dist/www
USER 1000:1000
VOLUME /var/lib/sluice
EXPOSE 4800
STOPSIGNAL SIGTERM
# A start may wait ten minutes for PostgreSQL's recovery.
HEALTHCHECK --start-period=10m --interval=10s --timeout=5s --retries=6 \
  CMD ["node", "healthcheck.mjs"]
CMD ["node", "dist/src/main.js"]
