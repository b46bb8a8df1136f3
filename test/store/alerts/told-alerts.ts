/** Alerts on a real PostgreSQL, and who tells of them: time passes by making its rows older. */
import assert from 'node:assert/strict'
import { createSender } from '../../../src/alerts/channels/channel-kinds.ts'
import { Deliverer } from '../../../src/alerts/deliverer.ts'
import type { WebhookRequest } from '../../../src/alerts/post-webhook.ts'
import { readRuleSettings, taskOf } from '../../../src/alerts/rule-settings.ts'
import type { AlertMessage } from '../../../src/alerts/webhook-body.ts'
import { ALERT_GROUP_WAIT_MS } from '../../../src/limits.ts'
import { ChannelStore } from '../../../src/store/alerts/channel-store.ts'
import { OutboxStore } from '../../../src/store/alerts/outbox-store.ts'
import { QueueStore } from '../../../src/store/alerts/queue-store.ts'
import type { Rule } from '../../../src/store/alerts/rule.ts'
import { RuleStore } from '../../../src/store/alerts/rule-store.ts'
import { insertTransitions, type StoredKind } from '../../../src/store/alerts/transitions-sql.ts'
import type { Postgres, Queryable } from '../../../src/store/postgres.ts'

export interface Posted {
  readonly key: string
  readonly body: string
  readonly message: AlertMessage
}

const TABLES = [
  ...['alert_rules', 'alert_states', 'alert_transitions', 'alert_notices', 'alert_outbox'],
  ...['alert_queues', 'alert_told', 'alert_silences', 'alert_rule_versions', 'alert_channels'],
]

export class ToldAlerts {
  readonly postgres: Postgres
  readonly posted: Posted[] = []
  /** What the channel answers. */
  status = 200
  readonly #rules: RuleStore

  constructor(postgres: Postgres) {
    this.postgres = postgres
    this.#rules = new RuleStore(postgres)
  }

  async clear(): Promise<void> {
    for (const table of TABLES.toReversed()) await this.postgres.query(`DELETE FROM ${table}`)
    this.posted.splice(0)
    this.status = 200
    const channels = new ChannelStore(this.postgres)
    await channels.put('ann', 'ops', { url: 'https://hooks.test/', allowsPrivate: false })
  }

  /** Its windows are days: it is not late. */
  async put(name: string, changes: object = {}): Promise<Rule> {
    const settings = readRuleSettings({
      ...{ condition: { op: '>', value: 1 }, window: '1d', group_by: ['service'] },
      ...{ channels: ['ops'], ...changes },
    })
    const { everyMs, delayMs } = taskOf(settings)
    const { rule } = await this.#rules.put({
      rights: { owner: 'ann', asAdmin: false, streamIds: undefined },
      ...{ name, settings, everyMs, delayMs },
      isOther: (before) => before.group_by.join() !== settings.group_by.join(),
      assertMatch: () => undefined,
    })
    return rule
  }

  async delete(rule: Rule): Promise<void> {
    await this.#rules.delete(rule.ruleId, () => undefined)
  }

  /** Groups of a rule change their state, in one decision. */
  async happen(
    rule: Rule,
    kind: Extract<StoredKind, 'firing' | 'resolved'>,
    ...groups: readonly string[]
  ): Promise<void> {
    const untilMs = Date.now()
    await this.postgres.transaction(async (sql) => {
      await sql.query(
        `INSERT INTO alert_states (rule_id, fingerprint, group_json, state, breaches, since_ms,
           fired_ms, seen_ms, value)
         SELECT $1, name, to_json(ARRAY[name])::text, $3, '1', $4, $4, $4, 2
           FROM unnest($2::text[]) AS name
         ON CONFLICT (rule_id, fingerprint) DO UPDATE SET state = $3, fired_ms = $4`,
        [rule.ruleId, groups, kind === 'firing' ? kind : 'inactive', untilMs],
      )
      await insertTransitions(
        sql,
        rule,
        groups.map((name) => ({
          ...{ kind, group: { fingerprint: name, json: JSON.stringify([name]) } },
          ...{ fromMs: untilMs - 60_000, untilMs, value: 2, events: 2 },
        })),
      )
    })
  }

  async happenToRule(rule: Rule, kind: 'gap' | 'evaluation_failing'): Promise<void> {
    await insertTransitions(this.postgres, rule, [{ kind, fromMs: 0, untilMs: Date.now() }])
  }

  /** As if it had all been so much earlier. */
  async pass(ms: number): Promise<void> {
    for (const [table, ...columns] of [
      ['alert_notices', 'created_at'],
      ['alert_outbox', 'created_at', 'next_at'],
      ['alert_queues', 'next_at', 'grouped_at'],
      ['alert_told', 'told_at'],
      ['alert_silences', 'from_at', 'until_at'],
    ] as const) {
      const changes = columns.map((name) => `${name} = ${name} - $1 * interval '1 millisecond'`)
      await this.postgres.query(`UPDATE ${table} SET ${changes.join(', ')}`, [ms])
    }
  }

  /** Who tells of them, on any connection. */
  deliverer(postgres = this.postgres, onPost: () => void = () => undefined): Deliverer {
    return new Deliverer({
      queues: new QueueStore(postgres),
      outbox: new OutboxStore(postgres),
      // Other events each time that they are read.
      addSamples: async ({ content }) => {
        return content.replace('"samples":[]', `"samples":[{"id":"${Math.random()}"}]`)
      },
      ...{ publicUrl: undefined, isWorker: () => true },
      send: createSender({
        nowMs: Date.now,
        post: async (request) => {
          onPost()
          this.#keep(request)
          onPost()
          return { status: this.status, retryAfterS: undefined }
        },
      }),
      onOutcome: () => undefined,
      onError: (cause) => assert.fail(String(cause)),
    })
  }

  #keep({ headers, body = '' }: WebhookRequest): void {
    const message = JSON.parse(body) as AlertMessage
    this.posted.push({ key: headers['Idempotency-Key']!, body, message })
  }

  /** Until there is nothing to tell now: what was posted. */
  async tell(postgres = this.postgres): Promise<Posted[]> {
    const before = this.posted.length
    const deliverer = this.deliverer(postgres)
    while ((await deliverer.round()) > 0);
    return this.posted.slice(before)
  }

  /** Of each message that is told: why, and of which groups why. */
  async told(): Promise<string[]> {
    return (await this.tell()).map(({ message: { reason, alerts } }) => {
      const groups = alerts.map(({ labels, status }) => `${labels.service ?? ''} ${status}`)
      return `${reason}: ${groups.join(', ')}`
    })
  }
}

/** A process that dies at its step `dieAt`: a statement, or one of its own. */
export class DyingPostgres {
  readonly #postgres: Postgres
  readonly #dieAt: number
  steps = 0

  constructor(postgres: Postgres, dieAt = Number.POSITIVE_INFINITY) {
    this.#postgres = postgres
    this.#dieAt = dieAt
  }

  /** Nothing is done from there on. */
  readonly step = (): void => {
    if (this.steps++ >= this.#dieAt) throw new Error('the process is dead')
  }

  async query<Row>(text: string, values?: readonly unknown[]) {
    this.step()
    const result = await this.#postgres.query<Row>(text, values)
    this.step()
    return result
  }

  async transaction<T>(work: (client: Queryable) => Promise<T>): Promise<T> {
    this.step()
    const result = await this.#postgres.transaction(async (client) => {
      const done = await work({
        query: async (text, values) => {
          this.step()
          return await client.query(text, values)
        },
      })
      // What is not committed is rolled back.
      this.step()
      return done
    })
    this.step()
    return result
  }
}

/** Of a body: all but the number of the try. */
export const withoutTry = (body: string) => body.replace(/,"attempt":\d+\}\}$/, '')

async function fireTwo(alerts: ToldAlerts, name: string): Promise<Rule> {
  await alerts.clear()
  const rule = await alerts.put(name)
  await alerts.happen(rule, 'firing', 'a', 'b')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  return rule
}

/** In how many steps two groups are told. */
export async function stepsOfTelling(alerts: ToldAlerts): Promise<number> {
  await fireTwo(alerts, 'counted')
  const counted = new DyingPostgres(alerts.postgres)
  const counting = alerts.deliverer(counted as unknown as Postgres, counted.step)
  while ((await counting.round()) > 0);
  return counted.steps
}

/** Whoever tells two groups dies at a step, and another one goes on. */
export async function dieAtStep(alerts: ToldAlerts, dieAt: number): Promise<void> {
  const rule = await fireTwo(alerts, `dies-at-${dieAt}`)
  const dying = new DyingPostgres(alerts.postgres, dieAt)
  const deliverer = alerts.deliverer(dying as unknown as Postgres, dying.step)
  await assert.rejects(async () => {
    while ((await deliverer.round()) > 0);
  })
  await alerts.pass(1_800_000)
  await alerts.tell()
  const { posted } = alerts
  assert.ok(posted.length === 1 || posted.length === 2, `step ${dieAt}: ${posted.length}`)
  assert.equal(new Set(posted.map(({ key }) => key)).size, 1, `step ${dieAt}`)
  assert.equal(new Set(posted.map(({ body }) => withoutTry(body))).size, 1, `step ${dieAt}`)
  await alerts.happen(rule, 'resolved', 'a', 'b')
  await alerts.pass(1_800_000)
  assert.deepEqual(await alerts.told(), ['resolved: a resolved, b resolved'])
}
