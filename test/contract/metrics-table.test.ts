import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { AggregatorRegistry } from 'prom-client'
import { describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

import { METRICS } from '../../src/core/telemetry/metric-table.ts'
import { metricsOf } from '../../src/core/telemetry/metrics.ts'
import { newId } from '../../src/core/ids.ts'
import { figuresOf, readFigures } from '../harness/figures.ts'
import { readPromQL } from '../harness/promql.ts'
import { useService } from '../harness/service.ts'

const service = useService({ worker: true })

const figures = (): Promise<Record<string, number>> => figuresOf(service.app)
const newPage = async (): Promise<string> => {
  const { json } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
  return json.id as string
}
const post = async (id: string, headers: Record<string, string> = {}) => {
  const reader = await service.as('ann')
  return service.call('POST', `/discussions/${id}/comments`, {
    body: { body: newId() },
    headers: { ...reader, ...headers },
  })
}

test('the table has every metric of a process with all roles, with its type and labels, and no other', async () => {
  await service.call('GET', '/nowhere')
  await post(await newPage())
  const made = (await metricsOf(service.app).getMetricsAsJSON()).filter(({ name }) => !/^(process|nodejs)_/.test(name))
  const expected = Object.entries(METRICS).flatMap(([name, { where }]) => (where.startsWith('with ') ? [] : [name]))
  expect(made.map(({ name }) => name).sort()).toEqual(expected.sort())
  for (const metric of made) {
    const told = METRICS[metric.name as keyof typeof METRICS]
    const labels: Record<string, readonly string[] | string> = 'labels' in told ? told.labels : {}
    expect(String(metric.type)).toBe(told.type)
    if (told.type === 'gauge') expect(metric.aggregator).toBe(told.aggregator)
    for (const { labels: given } of metric.values) {
      for (const [name, value] of Object.entries(given)) {
        if (name === 'le') continue
        expect(Object.keys(labels)).toContain(name)
        if (typeof labels[name] !== 'string') expect(labels[name]).toContain(value)
      }
    }
  }
})

test('names end in their unit, and only those of counters in _total', () => {
  for (const [name, { type }] of Object.entries(METRICS)) {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/)
    expect(name.endsWith('_total')).toBe(type === 'counter')
    expect(name).not.toMatch(/(_ms|_milliseconds|_kb|_mb|_count|_sum|_bucket)$/)
  }
})

test('metrics of several processes are combined: rows are summed, while up means up everywhere', async () => {
  const one = await metricsOf(service.app).getMetricsAsJSON()
  const other = one.map((metric) =>
    metric.name === 'bus_up' ? { ...metric, values: [{ value: 0, labels: {} }] } : metric,
  )
  const sum = readFigures(await AggregatorRegistry.aggregate([one, other] as object[]).metrics())
  const open = one.find(({ name }) => name === 'backfills_open')?.values[0]?.value
  expect(sum).toMatchObject({ bus_up: 0, service_ready: 1, backfills_open: open })
  expect(sum.database_pool_connections_max).toBe(2 * service.app.db.connections)
})

test('the page cache counts its hits, its misses and its evictions', async () => {
  const id = await newPage()
  await post(id)
  const read = (headers: Record<string, string> = {}) => service.call('GET', `/discussions/${id}/comments`, { headers })
  const before = await figures()
  const { headers } = await read()
  await read()
  await read()
  expect((await read({ 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304)
  const after = await figures()
  const grown = (result: string): number => {
    const name = `page_cache_requests_total{result="${result}"}`
    return (after[name] ?? NaN) - (before[name] ?? NaN)
  }
  expect(['miss', 'hit', 'shared', 'not_modified'].map(grown)).toEqual([1, 2, 0, 1])
  expect((after.page_cache_entries ?? 0) - (before.page_cache_entries ?? 0)).toBe(1)
  expect((after.page_cache_bytes ?? 0) - (before.page_cache_bytes ?? 0)).toBeGreaterThan(500)
})

test('refusals are counted by code and by interface', async () => {
  const id = await newPage()
  const before = await figures()
  await service.call('GET', `/discussions/${newId()}`)
  const keyed = { ...(await service.as('ann')), 'idempotency-key': newId() }
  for (let n = 0; n < 2; n++) await service.call('POST', `/comments/${newId()}/pin`, { headers: keyed })
  await service.call('POST', `/discussions/${id}/comments`, { body: { body: '' }, headers: keyed })
  await service.graphql('{ a: discussion(by: { id: "nonsense" }) { id } b: discussion(by: { id: "nonsense" }) { id } }')
  await service.graphql('{ nothing }')
  await fetch(`${service.url}/nowhere`)
  await service.call('GET', `/stream/${id}`, { headers: { 'x-api-key': 'ek_1' } })
  const after = await figures()
  const grown = Object.fromEntries(
    Object.entries(after)
      .filter(([name, value]) => name.startsWith('refusals_total') && value !== (before[name] ?? 0))
      .map(([name, value]) => [name.slice('refusals_total'.length), value - (before[name] ?? 0)]),
  )
  expect(grown).toMatchInlineSnapshot(`
    {
      "{code="idempotency_conflict",surface="rest"}": 2,
      "{code="invalid_api_key",surface="stream"}": 1,
      "{code="not_found",surface="graphql"}": 2,
      "{code="not_found",surface="other"}": 1,
      "{code="not_found",surface="rest"}": 2,
      "{code="validation_failed",surface="graphql"}": 1,
    }
  `)
})

test('the pool reports the use of its connections, and how long statements waited for one', async () => {
  const { db } = service.app
  // Workers use the pool as well, and collecting their metrics waits for it.
  const read = async (name: string): Promise<number> =>
    (await metricsOf(service.app).getSingleMetric(name)?.get())?.values[0]?.value ?? NaN
  const before = await figures()
  let free = (): void => undefined
  const held = new Promise<void>((resolve) => (free = resolve))
  const asked = Array.from({ length: db.connections + 1 }, () => db.transaction(() => held))
  try {
    await vi.waitFor(async () => expect(await read('database_pool_waiting')).toBeGreaterThan(0))
    await vi.waitFor(async () =>
      expect(await read('database_pool_connections_in_use')).toBe(await read('database_pool_connections_max')),
    )
    expect(await read('database_pool_connections_idle')).toBe(0)
  } finally {
    free()
    await Promise.all(asked)
  }
  const after = await figures()
  const grown = (name: string): number => (after[name] ?? NaN) - (before[name] ?? NaN)
  expect(grown('database_pool_wait_seconds_count')).toBeGreaterThan(db.connections)
  expect(grown('database_pool_wait_seconds_sum')).toBeGreaterThan(0)
})

test('the bus is timed by a returning message, and comments are counted by statement', async () => {
  await vi.waitFor(async () => expect((await figures())['bus_delay_seconds_count']).toBeGreaterThan(0))
  const id = await newPage()
  const before = await figures()
  await Promise.all(Array.from({ length: 20 }, () => post(id)))
  const after = await figures()
  const grown = (name: string): number => (after[name] ?? NaN) - (before[name] ?? 0)
  expect(grown('write_batch_rows_sum{of="comments"}')).toBe(20)
  expect(grown('write_batch_rows_count{of="comments"}')).toBeLessThanOrEqual(20)
  expect(after).toMatchObject({ bus_up: 1, service_ready: 1, 'write_lanes{of="comments"}': 0 })
})

const root = join(import.meta.dirname, '../..')
const read = (name: string): string => readFileSync(join(root, name), 'utf8')

const panelSchema = z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })
const dashboardSchema = z.object({ panels: z.array(panelSchema) })
const ruleSchema = z.object({
  alert: z.string(),
  expr: z.string(),
  for: z.string().regex(/^\d+[mhd]$/),
  labels: z.object({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.object({ summary: z.string().min(10), description: z.string().min(20), runbook_url: z.string() }),
})
const rulesSchema = z.object({ groups: z.array(z.object({ name: z.string(), rules: z.array(ruleSchema) })) })

const dashboard = dashboardSchema.parse(JSON.parse(read('deploy/grafana/engagement-service.json')))
const rules = rulesSchema.parse(parse(read('deploy/prometheus/alerts.yaml'))).groups.flatMap((group) => group.rules)

describe('the dashboard and the alert rules', () => {
  const expressions = [
    ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
    ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ]
  /** What Prometheus adds to each series. */
  const ADDED = ['job', 'instance']

  test('name only metrics, labels and values that a working process has', async () => {
    // A metric has series only once there was a stream, an attempt, a refusal; its name is always
    // there.
    const text = await service.scrape()
    const series = new Set([...text.matchAll(/^(\w+)[{ ]/gm)].map(([, name]) => name))
    const typed = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]))
    const isThere = (name: string): boolean => {
      const base = name.replace(/_(bucket|sum|count)$/, '')
      return series.has(name) || typed.get(name) === 'counter' || (base !== name && typed.get(base) === 'histogram')
    }
    const labelsOf = (name: string): Record<string, readonly string[] | string> => {
      const base = typed.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
      const metric = METRICS[base as keyof typeof METRICS] as (typeof METRICS)[keyof typeof METRICS] | undefined
      const labels = metric !== undefined && 'labels' in metric ? metric.labels : {}
      return { ...labels, ...(name.endsWith('_bucket') ? { le: 'a bound' } : {}) }
    }
    expect(expressions.length).toBeGreaterThan(60)
    for (const [where, expression] of expressions) {
      const { metrics, selects, groupsBy } = readPromQL(expression)
      expect(metrics.length, where).toBeGreaterThan(0)
      expect(
        metrics.filter((name) => !isThere(name)),
        where,
      ).toEqual([])
      for (const { metric, label, value } of selects) {
        if (ADDED.includes(label)) continue
        const values = labelsOf(metric)[label]
        expect(values, `${where}: ${metric} has no label ${label}`).toBeDefined()
        if (value !== null && Array.isArray(values)) expect(values, where).toContain(value)
      }
      const known = [...ADDED, ...metrics.flatMap((name) => Object.keys(labelsOf(name)))]
      expect(
        groupsBy.filter((label) => !known.includes(label)),
        where,
      ).toEqual([])
    }
  })

  test('every metric of the service is on the dashboard', () => {
    const shown = dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => readPromQL(expr).metrics))
    const ours = Object.entries(METRICS).filter(([, { where }]) => !where.startsWith('with '))
    const missing = ours.flatMap(([name]) => (shown.some((each) => each.startsWith(name)) ? [] : [name]))
    expect(missing).toEqual([])
  })

  test('every alert links to a section of the operations pages with its name', () => {
    const headings = [...read('docs/operations/operate.md').matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading)
    expect(rules.map(({ alert }) => alert)).toEqual(headings)
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url).toBe(`docs/operations/operate.md#${alert.toLowerCase()}`)
    }
  })

  test('an expression with an unknown name is found', () => {
    expect(readPromQL('sum(rate(no_such_total{a="b"}[5m])) by (c) > 0')).toEqual({
      metrics: ['no_such_total'],
      selects: [{ metric: 'no_such_total', label: 'a', value: 'b' }],
      groupsBy: ['c'],
    })
    expect(() => readPromQL('sum(rate(x[5m])')).toThrow('no PromQL')
  })
})
