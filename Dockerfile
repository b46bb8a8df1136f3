# Its steps were run by hand on Debian 13; no image has been built. See README, "In a container".
# Debian 13 has the glibc (2.38 or newer) that the newest HTTP engine needs.
FROM node:22-trixie-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --include=dev --no-audit --no-fund
COPY . .
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:22-trixie-slim
# As `npm start` sets them: glibc would otherwise keep what large requests took.
ENV NODE_ENV=production \
    MALLOC_MMAP_THRESHOLD_=270336 \
    MALLOC_TRIM_THRESHOLD_=1048576 \
    SLUICE_HOST=0.0.0.0 \
    SLUICE_DATA=/var/lib/sluice
WORKDIR /opt/sluice
COPY --from=build /src/package.json ./
# 1000 is the user "node" of the image. The embedded PostgreSQL makes links beside its libraries at its first start.
COPY --from=build --chown=node:node /src/node_modules ./node_modules
COPY --from=build /src/dist/src ./dist/src
COPY --from=build /src/dist/workers ./dist/workers
COPY --from=build /src/dist/www ./dist/www
RUN install -d -o 1000 -g 1000 -m 700 /var/lib/sluice
USER 1000:1000
VOLUME /var/lib/sluice
EXPOSE 4800
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=60s --interval=10s --timeout=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4800/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/src/main.js"]
