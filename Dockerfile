ARG NODE=24

FROM node:${NODE}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY . .
RUN npm run build && deploy/image/build.sh /service

# What runs needs no npm, and no tools of npm to keep safe: the node binary and the service.
FROM debian:bookworm-slim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Engagement Service" \
      org.opencontainers.image.description="Comments, reactions, a real-time stream and signed webhooks for publishers" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /service /service
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin engagement \
 && install -d -o engagement -g engagement -m 700 /data /service/dist/.compile-cache \
 && ln -s /service/dist/bin.js /usr/local/bin/engagement-service
# A worker answers health checks where an api does.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=4000 \
    WORKER_PORT=4000 \
    DATA_DIR=/data
WORKDIR /service
# A number, by which Kubernetes sees that it is not root.
USER 10001:10001
VOLUME /data
EXPOSE 4000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "dist/cli/health.js"]
ENTRYPOINT ["node", "dist/bin.js"]
