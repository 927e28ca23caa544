import { z } from 'zod'

import { environmentSchema } from '../../core/settings.ts'
import { code, page, table } from './markdown.ts'

type Variable = keyof typeof environmentSchema.shape

/** The meaning of a variable and, if the schema has no default to show, what applies without it. */
type Help = string | readonly [meaning: string, unset: string]

const HELP: Readonly<Record<Variable, Help>> = {
  ROLE: 'What the process runs: the api, a worker, or both. A value other than `all` needs `DATABASE_URL`.',
  WORKERS:
    'How many api processes run on one port, and beside them one worker (none with `ROLE=api`): 1 to 99, or `auto` for one per core. With 1, one process plays all its roles. The embedded database and `ROLE=worker` have one process.',
  HOST: 'The address to listen on.',
  PORT: 'The port to listen on.',
  WORKER_PORT: 'The port of `/healthz`, `/readyz` and `/metrics` of a `ROLE=worker` process.',
  METRICS_PORT:
    'A port that serves only `/metrics` and the health checks, in any process. Do not open it to the internet.',
  METRICS_TOKEN:
    'The token that `/metrics` requires in `Authorization: Bearer`. At least 16 characters of visible ASCII.',
  BASE_URL: ['The address that clients use. `streamUrl` begins with it.', 'made from host and port'],
  LOG_LEVEL: 'The least severe log lines that are written. They are JSON.',
  NODE_ENV:
    'With `production` there must be a `DATABASE_URL` or `EMBEDDED=true`, a variable that is named almost like one of these, which is not set, stops the start, and GraphiQL is off unless `GRAPHIQL` says otherwise.',
  EMBEDDED: [
    'Whether the embedded database is meant: `true` refuses a `DATABASE_URL`, `false` requires one.',
    'as `DATABASE_URL` and `NODE_ENV` say',
  ],
  DATA_DIR: 'The folder of the embedded database and its secrets. Used without `DATABASE_URL`.',
  DATABASE_URL: [
    'PostgreSQL 15 or newer. It may name several hosts, as `postgres://one:5432,two:5432/name`: the service goes to the one that takes writes.',
    'the embedded database',
  ],
  DATABASE_POOLER:
    '`transaction` for a pooler in transaction mode, as PgBouncer, in `DATABASE_URL`: see [PgBouncer](../operations/deploy.md#pgbouncer).',
  DATABASE_DIRECT_URL: [
    'Leads to the database past the pooler. Migrations and the first start go there. Required with `DATABASE_POOLER=transaction`.',
    '`DATABASE_URL`',
  ],
  DATABASE_PREPARED_STATEMENTS: [
    'Whether statements are prepared once per connection. Behind a pooler in transaction mode it must know them: PgBouncer 1.21 or newer does.',
    '`false` with `DATABASE_POOLER=transaction`, else `true`',
  ],
  DATABASE_REPLICA_URL: [
    'A standby of the database, one server. Analytics, the audit log and exports are read there: see [replica](../operations/deploy.md#a-replica-for-reads).',
    'the database itself',
  ],
  DATABASE_REPLICA_MAX_LAG_SECONDS:
    'How far the replica may be behind. Where it is further, the database itself is read.',
  DATABASE_POOL_SIZE:
    "Connections per process, and one more that asks after the server's health. One tenant's writes use at most half of them at once.",
  DATABASE_CONNECT_TIMEOUT_SECONDS: 'How long a new connection may take.',
  DATABASE_POOL_TIMEOUT_SECONDS: 'How long a request waits for a free connection. Then it is 503 `unavailable`.',
  DATABASE_STATEMENT_TIMEOUT_SECONDS:
    'How long a statement may take. Then the server ends it; where it does not, its connection is cut.',
  DATABASE_LOCK_PATIENCE_SECONDS:
    'How long a write is tried while another transaction holds a lock that it needs. Then it is 503 `unavailable`.',
  REDIS_URL: [
    'Redis. Several URLs, comma-separated, are a Redis Cluster. With `redis+sentinel://one:26379,two:26379/name` it is the one that sentinels name; before the hosts may be `user:password@`, after the name `/` and the number of the database, then `?sentinel_password=…`.',
    'the in-process bus',
  ],
  REDIS_PREFIX: 'Begins the name of every channel and key.',
  ADMIN_JWT_SECRET: ['Signs admin tokens. Required with `DATABASE_URL`.', 'made in `DATA_DIR`'],
  ENCRYPTION_KEY: [
    '32 bytes in base64. Encrypts signing and identity secrets at rest (AES-256-GCM), and signs tickets. Required with `DATABASE_URL`.',
    'made in `DATA_DIR`',
  ],
  ENCRYPTION_KEYS: [
    'At most 10 further keys, comma-separated, that only decrypt and verify: see [rotation](../operations/operate.md#rotate-encryption_key).',
    'none',
  ],
  TLS_CERT_FILE: 'The certificate, PEM. With `TLS_KEY_FILE` the process speaks HTTPS with HTTP/2.',
  TLS_KEY_FILE: 'The private key of the certificate, PEM.',
  HEADERS_TIMEOUT_SECONDS: 'Deadline for a TLS handshake and for the headers of a request.',
  REQUEST_TIMEOUT_SECONDS: 'Deadline for a whole request with its body.',
  RESPONSE_TIMEOUT_SECONDS: 'How long a client may take to read an answer, or the next part of it.',
  MAX_CONNECTIONS: 'Connections open at once that carry no stream.',
  MAX_CONNECTIONS_PER_ADDRESS: 'The same from one address. Those of `TRUSTED_PROXIES` do not count.',
  HEADER_PREFIX:
    'Begins the name of every header that carries a prefix. Letters, digits and hyphens, ending in a hyphen.',
  GRAPHIQL: ['Whether a browser gets GraphiQL at `/graphql`.', '`false` with `NODE_ENV=production`, else `true`'],
  GRAPHQL_INTROSPECTION: [
    'Whether callers may query the schema. Without it, errors suggest no names.',
    'as `GRAPHIQL`',
  ],
  PAGE_CACHE_MB: 'Memory for encoded pages of comments, per process. 0 keeps none.',
  STREAM_TOKEN_ENABLED: 'Whether the deprecated `?token=` of a stream works.',
  STREAM_TOKEN_SUNSET: 'The date in the `Sunset` header of a stream with `?token=`.',
  STREAM_HEARTBEAT_SECONDS: 'Seconds without an event before a heartbeat is sent.',
  STREAM_REPAIR_SECONDS: 'How often discussions that are followed live are compared with the database.',
  STREAM_MAX_PAUSE_MS:
    'Milliseconds that events of a discussion gather at most after a write to its streams, before the next one. The pause is 5 ms, and grows to this as the streams of the process take more of its core: see [Streams](../architecture.md#streams). With 5 it never grows.',
  STREAM_MAX_PER_PROCESS: 'Streams open at once.',
  TRUSTED_PROXIES: [
    'Address ranges (CIDR, comma-separated) of your reverse proxies, whose `X-Forwarded-For` is trusted. Some limits go by address.',
    'none',
  ],
  UNAUTHENTICATED_RATE_PER_SECOND: 'Requests without valid credentials from one address. 0 is no limit.',
  UNAUTHENTICATED_RATE_BURST: 'The burst of such requests.',
  WEBHOOK_ALLOWED_CIDRS: ['Private ranges (CIDR, comma-separated) that workers may reach.', 'none'],
  WEBHOOK_ALLOW_HTTP: 'Whether webhooks, classifiers and key sets may be reached over http.',
  WEBHOOK_ALLOWED_PORTS: [
    'Ports, and ranges of them, that workers may reach. With `WEBHOOK_ALLOW_HTTP` also 80.',
    '`443,1024-65535`',
  ],
  WEBHOOK_CA_FILE: 'A CA for receivers, beside the public ones, PEM.',
  WEBHOOK_POLL_SECONDS: 'How often a worker polls for work.',
  SHUTDOWN_GRACE_SECONDS: 'How long a stop takes at most: streams, requests and attempts end in it.',
  DRAIN_SECONDS:
    'How long an api goes on after `SIGTERM` while `/readyz` is 503, so that load balancers turn away. At most half of `SHUTDOWN_GRACE_SECONDS`, of which it is a part.',
  BOOTSTRAP_TENANT: 'The slug of the first tenant, which is made on an empty database.',
  BOOTSTRAP_API_KEY: ['Its first key, with all capabilities: `ek_` and 64 hex characters.', 'random'],
  BOOTSTRAP_IDENTITY_SECRET: ['Its identity secret.', 'random'],
  BOOTSTRAP_ADMIN_EMAIL: 'The e-mail address of its admin.',
  BOOTSTRAP_ADMIN_PASSWORD: ['The password of its admin.', 'random'],
}

/** Variables of OpenTelemetry; `src/data/tracing.ts` reads the first four too. */
const OPENTELEMETRY: Readonly<Record<string, string>> = {
  OTEL_EXPORTER_OTLP_ENDPOINT:
    'Where traces are sent, as `http://127.0.0.1:4318`. Without it and `OTEL_TRACES_EXPORTER` nothing is traced.',
  OTEL_EXPORTER_OTLP_PROTOCOL: '`http/protobuf` (the default) or `http/json`. gRPC is not there.',
  OTEL_TRACES_EXPORTER: '`otlp`, `console` (standard output) or `none`.',
  OTEL_SDK_DISABLED: '`true` turns traces off, whatever else is set.',
  OTEL_EXPORTER_OTLP_HEADERS: 'Headers for the collector, as `authorization=Bearer%20…`.',
  OTEL_TRACES_SAMPLER:
    'Which requests are traced: `parentbased_always_on` (the default), `parentbased_traceidratio`, …',
  OTEL_TRACES_SAMPLER_ARG: 'Of `parentbased_traceidratio` the share, as `0.01`.',
  OTEL_SERVICE_NAME: 'The name of the service in traces: `engagement-service` unless set.',
  OTEL_RESOURCE_ATTRIBUTES: 'More that every span says, as `deployment.environment.name=production`.',
  OTEL_BSP_MAX_QUEUE_SIZE: 'Spans that wait for the collector at most: 2048 unless set. More are dropped.',
}

/** `docs/reference/environment.md`. */
export function environmentPage(): string {
  const defaults: Record<string, unknown> = environmentSchema.parse({})
  const rows = (Object.keys(environmentSchema.shape) as Variable[]).map((name) => {
    const help = HELP[name]
    const [meaning, unset] = typeof help === 'string' ? [help, undefined] : help
    return [code(name), unset ?? shown(defaults[name]), valuesOf(name), meaning]
  })
  return page('Environment', '`src/core/settings.ts` and `src/api/reference/environment.ts`', [
    'The settings of a process. An empty variable counts as unset. Wrong values stop the start, with a line for each that names it. At the start the log names a variable whose name is almost one of these. Everything else is a [setting of the tenant](settings.md).',
    table(['Variable', 'Default', 'Values', 'Meaning'], rows),
    '## OpenTelemetry',
    "[Traces](../operations/observe.md#traces) are configured by OpenTelemetry's own variables, which its SDK reads. They mean what [its specification](https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/) says. These matter most:",
    table(
      ['Variable', 'Meaning'],
      Object.entries(OPENTELEMETRY).map(([name, meaning]) => [code(name), meaning]),
    ),
  ])
}

function shown(value: unknown): string {
  if (value === undefined) return 'none'
  return code(value instanceof Date ? value.toISOString().slice(0, 10) : value)
}

/** The choices or bounds in the schema. */
function valuesOf(name: Variable): string {
  const schemaOf = (io: 'input' | 'output') =>
    z.toJSONSchema(environmentSchema.shape[name], { io, unrepresentable: 'any' }) as z.core.JSONSchema.BaseSchema
  const { enum: choices } = schemaOf('input')
  if (choices !== undefined) return choices.map(code).join(', ')
  const { minLength, maxLength } = schemaOf('input')
  if (maxLength !== undefined) return `${minLength ?? 0} to ${maxLength} characters`
  if (minLength !== undefined && minLength > 1) return `at least ${minLength} characters`
  const { type, minimum, maximum } = schemaOf('output')
  if (minimum === undefined || maximum === undefined) return ''
  return `${minimum} to ${maximum}${type === 'integer' ? '' : ', also fractions'}`
}
