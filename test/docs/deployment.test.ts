import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'

import ipaddr from 'ipaddr.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'

import { METRICS } from '../../src/core/telemetry/metric-table.ts'
import { readSettings, type Settings } from '../../src/core/settings/settings.ts'
import { NGINX_FILE } from '../harness/balancers.ts'
import { readImage } from '../harness/container.ts'
import { Chart } from '../harness/helm.ts'
import { findProgram } from '../harness/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const noSecrets = (): never => {
  throw new Error('there is a database server')
}

interface Service {
  environment?: Record<string, string | number>
  depends_on?: Record<string, { condition: string }>
  healthcheck: { test: string[] }
  stop_grace_period?: string
  networks?: { default: { ipv4_address: string } }
  extra_hosts?: string[]
  volumes?: string[]
}

describe('compose.yaml', () => {
  const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, Service> }
  const service = (name: string): Service => services[name]!
  const ours = ['api1', 'api2', 'worker']
  let folder: string
  let variables: NodeJS.Dict<string>

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'engagement-compose-'))
    execFileSync(join(ROOT, 'deploy/compose/make-env.sh'), { cwd: folder })
    variables = parseEnv(readFileSync(join(folder, '.env'), 'utf8'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** `${NAME:?error}` and `${NAME:-default}`, as Compose reads them. */
  const fill = (text: string): string =>
    text.replace(/\$\{(\w+):(\?|-)([^}]*)\}/g, (_all, name: string, kind: string, rest: string) => {
      const value = variables[name] ?? ''
      if (value === '' && kind === '?') throw new Error(`${name}: ${rest}`)
      return value === '' ? rest : value
    })

  const settingsOf = (name: string): Settings => {
    const given = Object.entries(service(name).environment ?? {}).map(([key, value]) => [key, fill(String(value))])
    return readSettings({ ...readImage().env, ...Object.fromEntries(given) }, noSecrets)
  }

  test('the settings of each process are complete and valid, with the secrets of make-env.sh', () => {
    expect(ours.map((name) => settingsOf(name).ROLE)).toEqual(['api', 'api', 'worker'])
    const [{ ENCRYPTION_KEY, ADMIN_JWT_SECRET }, other] = [settingsOf('api1'), settingsOf('worker')]
    expect(other.ENCRYPTION_KEY.equals(ENCRYPTION_KEY)).toBe(true)
    expect(ADMIN_JWT_SECRET).toMatch(/^[0-9a-f]{64}$/)
    expect(settingsOf('api2').DATABASE_URL).toContain(
      `:${fill(String(service('postgres').environment?.POSTGRES_PASSWORD))}@`,
    )
  })

  test('make-env.sh writes a file that others cannot read, and never overwrites it', () => {
    expect(statSync(join(folder, '.env')).mode & 0o077).toBe(0)
    expect(() => execFileSync(join(ROOT, 'deploy/compose/make-env.sh'), { cwd: folder, stdio: 'pipe' })).toThrow(
      'it stays as it is',
    )
  })

  test('without a secret nothing starts', () => {
    const text = read('compose.yaml')
    for (const [name] of read('deploy/compose/example.env').matchAll(/^[A-Z_]+(?==$)/gm)) {
      expect(text).toContain(`\${${name}:?`)
      expect(text).not.toMatch(new RegExp(`\\$(${name}|\\{${name}(:-|\\}))`))
    }
  })

  test('Docker waits longer for a process than the process takes to stop', () => {
    for (const name of ours) {
      const waits = Number.parseInt(service(name).stop_grace_period ?? '', 10)
      expect(waits).toBeGreaterThan(settingsOf(name).SHUTDOWN_GRACE_SECONDS)
    }
  })

  test('each service has a health check, which others wait for', () => {
    for (const [name, { healthcheck, depends_on = {} }] of Object.entries(services)) {
      expect(healthcheck.test[0], name).toBe('CMD')
      for (const [other, { condition }] of Object.entries(depends_on)) {
        expect(Object.keys(services)).toContain(other)
        expect(condition).toBe('service_healthy')
      }
    }
    expect(service('api1').healthcheck.test.slice(1)).toEqual([...readImage().healthcheck, '/readyz'])
  })

  test('nginx reaches the apis, and they trust it', () => {
    const { extra_hosts = [], networks, volumes = [] } = service('nginx')
    const nginx = ipaddr.parse(networks?.default.ipv4_address ?? '')
    for (const name of ['api1', 'api2']) {
      expect(extra_hosts).toContain(`${name}:${service(name).networks?.default.ipv4_address}`)
      const [range = ''] = settingsOf(name).TRUSTED_PROXIES
      expect(nginx.match(ipaddr.parseCIDR(range))).toBe(true)
      expect(readFileSync(NGINX_FILE, 'utf8')).toContain(`  server ${name}:${settingsOf(name).PORT} `)
    }
    expect(volumes.map((volume) => existsSync(join(ROOT, volume.split(':')[0] ?? '')))).toEqual([true])
  })
})

describe('deploy/systemd/engagement@.service', () => {
  const text = read('deploy/systemd/engagement@.service')
  const value = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1] ?? ''

  test('sets what a process needs, and waits longer for its end than it takes', () => {
    const own = parseEnv(value('Environment').replaceAll('%i', 'api').replaceAll(' ', '\n'))
    const secrets = { ADMIN_JWT_SECRET: 'x'.repeat(32), ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }
    const settings = readSettings({ ...own, ...secrets, DATABASE_URL: 'postgres://127.0.0.1/engagement' }, noSecrets)
    expect(settings).toMatchObject({ ROLE: 'api', NODE_ENV: 'production' })
    expect(Number(value('TimeoutStopSec'))).toBeGreaterThan(settings.SHUTDOWN_GRACE_SECONDS)
    expect(text).not.toMatch(/^MemoryDenyWriteExecute=yes/m)
  })

  const analyze = findProgram('systemd-analyze')
  test.skipIf(analyze === undefined)(
    `systemd understands it, and counts it as sealed off${analyze === undefined ? ' (skipped: needs systemd-analyze)' : ''}`,
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'engagement-systemd-'))
      try {
        const unit = join(folder, 'engagement@api.service')
        writeFileSync(
          unit,
          text
            .replace('/usr/bin/node', process.execPath)
            .replace(/^WorkingDirectory=.*/m, `WorkingDirectory=${folder}`),
        )
        const run = (...args: string[]) => spawnSync(analyze ?? '', [...args, unit], { encoding: 'utf8' })
        expect(run('verify', '--man=no')).toMatchObject({ status: 0, stderr: '' })
        // Its own scale: 0 is sealed off, 10 is as root.
        const { status, stdout, stderr } = run('security', '--offline=true', '--threshold=20')
        expect(status, stdout + stderr).toBe(0)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  )
})

describe('deploy/helm/engagement-service', () => {
  const FOLDER = join(ROOT, 'deploy/helm/engagement-service')
  /** Everything that can be switched on. */
  const ON = {
    imagePullSecrets: [{ name: 'registry' }],
    env: { LOG_LEVEL: 'warn', STREAM_MAX_PER_PROCESS: 50_000 },
    api: { autoscaling: { enabled: true, streamsPerPod: 5000 } },
    worker: { autoscaling: { enabled: true, backlogSeconds: 30 } },
    ingress: { enabled: true, className: 'nginx', tlsSecret: 'tls' },
    podMonitor: { enabled: true },
  }
  const ROLES = ['api', 'worker']

  interface Pod {
    enableServiceLinks: boolean
    terminationGracePeriodSeconds: number
    securityContext: { runAsNonRoot: boolean; runAsUser: number }
    containers: {
      args?: string[]
      env: { name: string; value: string }[]
      envFrom: { secretRef: { name: string } }[]
      ports?: { name: string; containerPort: number }[]
      securityContext: object
      readinessProbe: Probe
      livenessProbe: Probe
      startupProbe: Probe
    }[]
  }
  interface Probe {
    httpGet: { path: string; port: string }
  }
  interface Workload {
    metadata: { labels: Record<string, string>; annotations?: Record<string, string> }
    spec: {
      replicas?: number
      selector: { matchLabels: Record<string, string> }
      template: { metadata: { labels: Record<string, string> }; spec: Pod }
    }
  }

  /** An object of the release, with the fields that the tests check. */
  const find = (objects: ReadonlyMap<string, object>, key: string): Workload => {
    const object = objects.get(key)
    if (object === undefined) throw new Error(`there is no ${key}`)
    return object as Workload
  }
  const settingsOf = ({ containers: [container] }: Pod): Settings => {
    const env = Object.fromEntries(container!.env.map(({ name, value }) => [name, value]))
    expect(Object.values(env).every((value) => typeof value === 'string')).toBe(true)
    // What the Secret must hold.
    const secret = {
      DATABASE_URL: 'postgres://postgres/engagement',
      ADMIN_JWT_SECRET: 'x'.repeat(32),
      ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    }
    return readSettings({ ...readImage().env, ...secret, ...env }, noSecrets)
  }

  test('renders the defaults, and more on request', () => {
    const chart = new Chart(FOLDER)
    const least = ['Deployment', 'PodDisruptionBudget'].flatMap((kind) => ROLES.map((role) => `${kind}/news-${role}`))
    expect([...chart.render().keys()].toSorted()).toEqual([...least, 'Job/news-migrate', 'Service/news-api'].toSorted())
    const more = [...ROLES.map((role) => `HorizontalPodAutoscaler/news-${role}`), 'Ingress/news', 'PodMonitor/news']
    expect([...chart.render({ ...ON, migrationJob: false }).keys()].toSorted()).toEqual(
      [...least, 'Service/news-api', ...more].toSorted(),
    )
  })

  test('uses every value that it declares', () => {
    const chart = new Chart(FOLDER)
    chart.render()
    chart.render(ON)
    const leaves = (value: unknown, path: string): string[] =>
      typeof value === 'object' && value !== null && Object.keys(value).length > 0
        ? Object.entries(value).flatMap(([key, each]) => leaves(each, path === '' ? key : `${path}.${key}`))
        : [path]
    const isUsed = (path: string): boolean =>
      [...chart.used].some((used) => path === used || path.startsWith(`${used}.`))
    expect(leaves(chart.values, '').filter((path) => !isUsed(path))).toEqual([])
  })

  test.each(ROLES)("the pods of the %s have valid settings, the image's user, and answered probes", (role) => {
    const objects = new Chart(FOLDER).render(ON)
    const { spec } = find(objects, `Deployment/news-${role}`)
    const pod = spec.template.spec
    const [container] = pod.containers
    const settings = settingsOf(pod)
    expect(settings).toMatchObject({ ROLE: role, STREAM_MAX_PER_PROCESS: 50_000, LOG_LEVEL: 'warn' })
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(settings.SHUTDOWN_GRACE_SECONDS)
    // Kubernetes takes a pod out of its Services while the process drains.
    expect(settings.DRAIN_SECONDS).toBeGreaterThanOrEqual(5)
    expect(pod.enableServiceLinks).toBe(false)
    expect(readImage().user).toBe(`${pod.securityContext.runAsUser}:${pod.securityContext.runAsUser}`)
    expect(container).toMatchObject({
      envFrom: [{ secretRef: { name: 'engagement' } }],
      securityContext: {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
      startupProbe: { httpGet: { path: '/healthz', port: 'http' } },
      livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
    })
    expect(container!.ports).toEqual([
      { name: 'http', containerPort: role === 'api' ? settings.PORT : settings.WORKER_PORT },
      { name: 'metrics', containerPort: settings.METRICS_PORT },
    ])
    // The autoscaler decides.
    expect(spec.replicas).toBeUndefined()
    const { spec: budget } = find(objects, `PodDisruptionBudget/news-${role}`)
    for (const { matchLabels } of [spec.selector, budget.selector]) {
      expect(matchLabels['app.kubernetes.io/component']).toBe(role)
      expect(spec.template.metadata.labels).toMatchObject(matchLabels)
    }
  })

  test("the migration job runs before the release's pods, and is no pod of the Service", () => {
    const objects = new Chart(FOLDER).render()
    const { metadata, spec } = find(objects, 'Job/news-migrate')
    expect(metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade')
    expect(spec.template.spec.containers.map(({ args }) => args)).toEqual([['migrate']])
    expect(settingsOf(spec.template.spec).ROLE).toBe('all')
    const service = objects.get('Service/news-api') as { spec: { selector: Record<string, string> } }
    expect(spec.template.metadata.labels).not.toMatchObject(service.spec.selector)
    const api = find(objects, 'Deployment/news-api')
    expect(api.spec.template.metadata.labels).toMatchObject(service.spec.selector)
  })

  test.each([
    ['api', 'stream_connections'],
    ['worker', 'webhook_backlog_age_seconds'],
  ] as const)('the %s scales on %s, which its processes have', (role, metric) => {
    const key = `HorizontalPodAutoscaler/news-${role}`
    const { spec } = new Chart(FOLDER).render(ON).get(key) as {
      spec: { metrics: { pods?: { metric: { name: string } } }[] }
    }
    expect(spec.metrics.map(({ pods }) => pods?.metric.name)).toEqual([undefined, metric])
    expect(METRICS[metric].where).toContain(role)
  })

  test('has the version of the service', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    const chart = parse(read('deploy/helm/engagement-service/Chart.yaml')) as Record<string, string>
    expect([chart.version, chart.appVersion]).toEqual([version, version])
    expect(read('Dockerfile')).toContain(`ARG VERSION=${version}\n`)
  })
})
