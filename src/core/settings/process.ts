import { availableParallelism } from 'node:os'

import { z } from 'zod'

import { databaseHosts } from './database-url.ts'
import { meansSentinels, sentinelsOf } from './redis-url.ts'
import {
  cidrs,
  databaseUrl,
  encryptionKey,
  flag,
  identitySecretSchema,
  integerText,
  isRedisUrl,
  list,
  numberText,
  path,
  port,
  ports,
  rawKey,
  seconds,
} from './values.ts'

/**
 * All settings of the process, by environment variable, each with its help. `unset` says what
 * applies without it, where the default does not. docs/reference/environment.md is made from this.
 */
export const environmentSchema = z.object({
  ROLE: z
    .enum(['all', 'api', 'worker'])
    .default('all')
    .describe('What the process runs: the api, a worker, or both. A value other than `all` needs `DATABASE_URL`.'),
  WORKERS: z
    .string()
    .regex(/^(auto|[1-9]\d?)$/, 'must be auto, or a number from 1 to 99')
    .transform((text) => (text === 'auto' ? availableParallelism() : Number(text)))
    .default(1)
    .describe(
      'How many api processes run on one port, and beside them one worker (none with `ROLE=api`): 1 to 99, or `auto` for one per core. With 1, one process plays all its roles. The embedded database and `ROLE=worker` have one process.',
    ),
  HOST: z.string().min(1).default('127.0.0.1').describe('The address to listen on.'),
  PORT: port.default(4000).describe('The port to listen on.'),
  WORKER_PORT: port.optional().describe('The port of `/healthz`, `/readyz` and `/metrics` of a `ROLE=worker` process.'),
  METRICS_PORT: port
    .optional()
    .describe(
      'A port that serves only `/metrics` and the health checks, in any process. Do not open it to the internet.',
    ),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,}$/, 'must have at least 16 characters of visible ASCII')
    .optional()
    .describe(
      'The token that `/metrics` requires in `Authorization: Bearer`. At least 16 characters of visible ASCII.',
    ),
  BASE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({
      description: 'The address that clients use. `streamUrl` begins with it.',
      unset: 'made from host and port',
    }),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('The least severe log lines that are written. They are JSON.'),
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      'With `production` there must be a `DATABASE_URL` or `EMBEDDED=true`, a variable that is named almost like one of these, which is not set, stops the start, and GraphiQL is off unless `GRAPHIQL` says otherwise.',
    ),

  EMBEDDED: flag.optional().meta({
    description: 'Whether the embedded database is meant: `true` refuses a `DATABASE_URL`, `false` requires one.',
    unset: 'as `DATABASE_URL` and `NODE_ENV` say',
  }),
  DATA_DIR: path
    .default('.data')
    .describe('The folder of the embedded database and its secrets. Used without `DATABASE_URL`.'),
  DATABASE_URL: databaseUrl.optional().meta({
    description:
      'PostgreSQL 15 or newer. It may name several hosts, as `postgres://one:5432,two:5432/name`: the service goes to the one that takes writes.',
    unset: 'the embedded database',
  }),
  DATABASE_POOLER: z
    .enum(['none', 'transaction'])
    .default('none')
    .describe(
      '`transaction` for a pooler in transaction mode, as PgBouncer, in `DATABASE_URL`: see [PgBouncer](../operations/deploy.md#pgbouncer).',
    ),
  DATABASE_DIRECT_URL: databaseUrl.optional().meta({
    description:
      'Leads to the database past the pooler. Migrations and the first start go there. Required with `DATABASE_POOLER=transaction`.',
    unset: '`DATABASE_URL`',
  }),
  DATABASE_PREPARED_STATEMENTS: flag.optional().meta({
    description:
      'Whether statements are prepared once per connection. Behind a pooler in transaction mode it must know them: PgBouncer 1.21 or newer does.',
    unset: '`false` with `DATABASE_POOLER=transaction`, else `true`',
  }),
  DATABASE_REPLICA_URL: z
    .string()
    .refine((url) => databaseHosts(url)?.length === 1, 'must be a URL of one server, as postgres://one:5432/name')
    .optional()
    .meta({
      description:
        'A standby of the database, one server. Analytics, the audit log and exports are read there: see [replica](../operations/deploy.md#a-replica-for-reads).',
      unset: 'the database itself',
    }),
  DATABASE_REPLICA_MAX_LAG_SECONDS: seconds
    .default(10)
    .describe('How far the replica may be behind. Where it is further, the database itself is read.'),
  DATABASE_POOL_SIZE: integerText(2, 200)
    .default(16)
    .describe(
      "Connections per process, and one more that asks after the server's health. One tenant's writes use at most half of them at once.",
    ),
  DATABASE_CONNECT_TIMEOUT_SECONDS: seconds.default(3).describe('How long a new connection may take.'),
  DATABASE_POOL_TIMEOUT_SECONDS: seconds
    .default(5)
    .describe('How long a request waits for a free connection. Then it is 503 `unavailable`.'),
  DATABASE_STATEMENT_TIMEOUT_SECONDS: seconds
    .default(10)
    .describe('How long a statement may take. Then the server ends it; where it does not, its connection is cut.'),
  DATABASE_LOCK_PATIENCE_SECONDS: numberText(0.1, 25)
    .default(5)
    .describe(
      'How long a write is tried while another transaction holds a lock that it needs. Then it is 503 `unavailable`.',
    ),
  REDIS_URL: z
    .string()
    .transform((text) => (meansSentinels(text) ? [text] : text.split(',').map((url) => url.trim())))
    .pipe(
      z.array(
        z
          .string()
          .refine(
            (url) => (meansSentinels(url) ? sentinelsOf(url) !== null : isRedisUrl(url)),
            'must be a redis:// or rediss:// URL, several of them, or redis+sentinel://host:port,host:port/name',
          ),
      ),
    )
    .optional()
    .meta({
      description:
        'Redis. Several URLs, comma-separated, are a Redis Cluster. With `redis+sentinel://one:26379,two:26379/name` it is the one that sentinels name; before the hosts may be `user:password@`, after the name `/` and the number of the database, then `?sentinel_password=…`.',
      unset: 'the in-process bus',
    }),
  REDIS_PREFIX: z.string().min(1).max(100).default('engagement:').describe('Begins the name of every channel and key.'),

  ADMIN_JWT_SECRET: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .meta({ description: 'Signs admin tokens. Required with `DATABASE_URL`.', unset: 'made in `DATA_DIR`' }),
  ENCRYPTION_KEY: encryptionKey.optional().meta({
    description:
      '32 bytes in base64. Encrypts signing and identity secrets at rest (AES-256-GCM), and signs tickets. Required with `DATABASE_URL`.',
    unset: 'made in `DATA_DIR`',
  }),
  ENCRYPTION_KEYS: list
    .pipe(z.array(encryptionKey))
    .refine((keys) => keys.length <= 10, 'must be at most 10 keys')
    .default([])
    .meta({
      description:
        'At most 10 further keys, comma-separated, that only decrypt and verify: see [rotation](../operations/operate.md#rotate-encryption_key).',
      unset: 'none',
    }),
  TLS_CERT_FILE: path
    .optional()
    .describe('The certificate, PEM. With `TLS_KEY_FILE` the process speaks HTTPS with HTTP/2.'),
  TLS_KEY_FILE: path.optional().describe('The private key of the certificate, PEM.'),

  HEADERS_TIMEOUT_SECONDS: seconds
    .default(15)
    .describe('Deadline for a TLS handshake and for the headers of a request.'),
  REQUEST_TIMEOUT_SECONDS: seconds.default(30).describe('Deadline for a whole request with its body.'),
  RESPONSE_TIMEOUT_SECONDS: seconds
    .default(300)
    .describe('How long a client may take to read an answer, or the next part of it.'),
  MAX_CONNECTIONS: integerText(1, 1_000_000).default(10_000).describe('Connections open at once that carry no stream.'),
  MAX_CONNECTIONS_PER_ADDRESS: integerText(1, 1_000_000)
    .default(1000)
    .describe('The same from one address. Those of `TRUSTED_PROXIES` do not count.'),

  HEADER_PREFIX: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*-$/, 'must be letters, digits and hyphens, ending in a hyphen')
    .default('X-Service-')
    .describe(
      'Begins the name of every header that carries a prefix. Letters, digits and hyphens, ending in a hyphen.',
    ),
  GRAPHIQL: flag.optional().meta({
    description: 'Whether a browser gets GraphiQL at `/graphql`.',
    unset: '`false` with `NODE_ENV=production`, else `true`',
  }),
  GRAPHQL_INTROSPECTION: flag.optional().meta({
    description: 'Whether callers may query the schema. Without it, errors suggest no names.',
    unset: 'as `GRAPHIQL`',
  }),

  CACHE_MB: integerText(8, 65_536)
    .default(64)
    .describe(
      'Memory for all other caches together, per process: credentials, tenants, readers, GraphQL documents. What does not fit is read again.',
    ),

  PAGE_CACHE_MB: integerText(0, 65_536)
    .default(64)
    .describe('Memory for encoded pages of comments, per process. 0 keeps none.'),

  STREAM_TOKEN_ENABLED: flag.default(true).describe('Whether the deprecated `?token=` of a stream works.'),
  STREAM_TOKEN_SUNSET: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'must be a date')
    .transform((text) => new Date(text))
    .default(new Date('2027-06-30T00:00:00Z'))
    .describe('The date in the `Sunset` header of a stream with `?token=`.'),
  STREAM_HEARTBEAT_SECONDS: numberText(0.1, 60)
    .default(15)
    .describe('Seconds without an event before a heartbeat is sent.'),
  STREAM_REPAIR_SECONDS: numberText(0.1, 5)
    .default(2)
    .describe('How often discussions that are followed live are compared with the database.'),
  STREAM_MAX_PAUSE_MS: integerText(5, 1000)
    .default(50)
    .describe(
      'Milliseconds that events of a discussion gather at most after a write to its streams, before the next one. The pause is 5 ms, and grows to this as the streams of the process take more of its core: see [Streams](../architecture.md#streams). With 5 it never grows.',
    ),
  STREAM_MAX_PER_PROCESS: integerText(1, 1_000_000).default(20_000).describe('Streams open at once.'),

  TRUSTED_PROXIES: cidrs.default([]).meta({
    description:
      'Address ranges (CIDR, comma-separated) of your reverse proxies, whose `X-Forwarded-For` is trusted. Some limits go by address.',
    unset: 'none',
  }),
  UNAUTHENTICATED_RATE_PER_SECOND: numberText(0, 100_000)
    .default(20)
    .describe('Requests without valid credentials from one address. 0 is no limit.'),
  UNAUTHENTICATED_RATE_BURST: integerText(1, 1_000_000).default(200).describe('The burst of such requests.'),
  WEBHOOK_ALLOWED_CIDRS: cidrs
    .default([])
    .meta({ description: 'Private ranges (CIDR, comma-separated) that outbound requests may reach.', unset: 'none' }),
  WEBHOOK_ALLOW_HTTP: flag
    .default(false)
    .describe('Whether webhooks, classifiers and key sets may be reached over http.'),
  WEBHOOK_ALLOWED_PORTS: ports
    .default([
      [443, 443],
      [1024, 65_535],
    ])
    .meta({
      description: 'Ports, and ranges of them, that outbound requests may reach. With `WEBHOOK_ALLOW_HTTP` also 80.',
      unset: '`443,1024-65535`',
    }),
  WEBHOOK_CA_FILE: path.optional().describe('A CA for receivers, beside the public ones, PEM.'),
  WEBHOOK_POLL_SECONDS: numberText(0.05, 60).default(1).describe('How often a worker polls for work.'),

  SHUTDOWN_GRACE_SECONDS: numberText(0, 300)
    .default(10)
    .describe('How long a stop takes at most: streams, requests and attempts end in it.'),
  DRAIN_SECONDS: numberText(0, 150)
    .default(5)
    .describe(
      'How long an api goes on after `SIGTERM` while `/readyz` is 503, so that load balancers turn away. At most half of `SHUTDOWN_GRACE_SECONDS`, of which it is a part.',
    ),

  BOOTSTRAP_TENANT: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens')
    .default('demo')
    .describe('The slug of the first tenant, which is made on an empty database.'),
  BOOTSTRAP_API_KEY: z
    .string()
    .regex(rawKey, 'must be ek_ and 64 lower-case hex characters')
    .optional()
    .meta({ description: 'Its first key, with all capabilities: `ek_` and 64 hex characters.', unset: 'random' }),
  BOOTSTRAP_IDENTITY_SECRET: identitySecretSchema
    .optional()
    .meta({ description: 'Its identity secret.', unset: 'random' }),
  BOOTSTRAP_ADMIN_EMAIL: z
    .email('must be an e-mail address')
    .default('admin@example.com')
    .describe('The e-mail address of its admin.'),
  BOOTSTRAP_ADMIN_PASSWORD: z
    .string()
    .min(8)
    .optional()
    .meta({ description: 'The password of its admin.', unset: 'random' }),
})
