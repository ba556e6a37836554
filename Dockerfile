# syntax=docker/dockerfile:1
# Chancery as a container: docs/deploying.md. Build it in the folder of the repository:
#
#   docker build --build-arg COMMIT="$(git rev-parse HEAD)" --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" -t chancery:0.1.0 .

ARG NODE=26-trixie-slim

FROM node:${NODE} AS build
WORKDIR /src
# First what decides which packages are installed, so that a change of the sources installs none again.
COPY package.json package-lock.json .npmrc ./
COPY kit/package.json kit/
COPY dashboard/package.json dashboard/
# No script of a package runs: what the build needs of them lies ready in them.
RUN npm ci --ignore-scripts
COPY tsconfig.json README.md CHANGELOG.md LICENSE ./
COPY src src
COPY tools tools
COPY dashboard dashboard
# The dashboard shows them to whoever has made an endpoint.
COPY docs/verify docs/verify
COPY deploy/healthcheck.mjs deploy/
# What `chancery version` says the build was made from, as the repository itself is not sent to the builder.
ARG COMMIT=
ARG SOURCE_DATE_EPOCH=
RUN npm run pack
# The runtime stage takes this tree as it is: the package, beside it the one that makes thumbs, and the folder of the data.
RUN mkdir -p /out/opt/chancery/node_modules /out/usr/local/bin /data \
  && cp -r dist/package/. deploy/healthcheck.mjs /out/opt/chancery/ \
  && cp -r node_modules/sharp node_modules/@img node_modules/detect-libc node_modules/semver /out/opt/chancery/node_modules/ \
  && ln -s /opt/chancery/dist/chancery.cjs /out/usr/local/bin/chancery

FROM node:${NODE}
ARG COMMIT=
LABEL org.opencontainers.image.title="Chancery" \
  org.opencontainers.image.description="Stores records and sends a signed webhook for every change." \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.revision="${COMMIT}" \
  org.opencontainers.image.licenses="MIT"
COPY --from=build /out/ /
# A new volume takes over the owner of the folder that it is mounted on.
COPY --from=build --chown=10001:10001 /data /var/lib/chancery
# Further settings are variables too: `docker run --env CHANCERY_…`, see docs/operating.md. Threads share two pools of memory in
# place of having one each.
ENV NODE_ENV=production \
  MALLOC_ARENA_MAX=2 \
  CHANCERY_DATA=/var/lib/chancery \
  CHANCERY_HOST=0.0.0.0 \
  CHANCERY_PORT=8090
# A number, so that Kubernetes can see that it is not root's. Nobody else has it: files of the data belong to no user of the host.
USER 10001:10001
WORKDIR /var/lib/chancery
VOLUME /var/lib/chancery
EXPOSE 8090
# The service stops in order on this; give it 40 seconds (docker stop --time 40).
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s CMD ["node", "/opt/chancery/healthcheck.mjs"]
ENTRYPOINT ["chancery"]
CMD ["serve"]
