/** Goal: what tools tell of alerts fits into a context, however many rules and groups there are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainAlertTool } from '../../src/agents/explain-alert.ts'
import { listAlertsTool } from '../../src/agents/list-alerts.ts'
import { readRuleSettings } from '../../src/alerts/rule-settings.ts'
import { IngestError } from '../../src/errors.ts'
import { MCP_RESULT_CHARS_MAX } from '../../src/limits.ts'
import type { Principal } from '../../src/model/stream.ts'
import type { Lane } from '../../src/read/lane.ts'
import type { StoredState } from '../../src/store/alerts/decision-store.ts'
import type { ToldRule } from '../../src/store/alerts/rule.ts'

const LONG = 'x'.repeat(600)
const settings = readRuleSettings({
  ...{ query: `level:${LONG}`, group_by: ['service'], description: LONG },
  ...{ condition: { op: '>', value: 3 }, window: '1m' },
})

function ruleOf(ruleId: number, changes: Partial<ToldRule> = {}): ToldRule {
  return {
    ...{ ruleId, owner: 'ann', name: `rule-${ruleId}`, asAdmin: false, streamIds: undefined },
    ...{
      settings,
      everyMs: 60_000,
      delayMs: 0,
      version: 1,
      createdAtMs: 0,
      updatedAtMs: 0,
      cursorMs: 0,
      failures: 0,
    },
    ...{ problem: undefined, isTold: false, groupsFiring: 1_000, groupsPending: 0 },
    ...changes,
  }
}

const groups: readonly StoredState[] = Array.from({ length: 1_000 }, (_, n) => ({
  ...{ groupJson: JSON.stringify([`${n} ${LONG}`]), fingerprint: String(n).padStart(64, '0') },
  ...{ state: 'firing' as const, breaches: [true], unmet: 0, sinceMs: 0, firedMs: 0, seenMs: 0 },
  value: 7,
}))

const lane = { run: (_: number, __: AbortSignal, run: () => Promise<string>) => run() }
const principal = {
  tokenId: 1,
  owner: 'ann',
  scopes: new Set(['alerts:read']),
} as never as Principal

function depsOf(rules: readonly ToldRule[], states = groups) {
  return {
    lists: lane as unknown as Lane,
    queries: lane as unknown as Lane,
    alerts: {
      rules: {
        list: async () => [...rules],
        find: async (id: number) => rules.find(({ ruleId }) => ruleId === id),
        findNamed: async (_: string, name: string) => rules.find((one) => one.name === name),
      },
      windows: {
        list: async () => [],
        readGroups: async () => states,
        readGroupsOf: async (ids: readonly number[]) => new Map(ids.map((id) => [id, states])),
      },
      transitions: {
        list: async () => [
          {
            ...{ transitionId: 1, ruleId: 1, ruleName: 'rule-1', owner: 'ann', ruleVersion: 1 },
            ...{ fingerprint: groups[0]!.fingerprint, groupJson: groups[0]!.groupJson },
            ...{ kind: 'firing' as const, reason: undefined, fromMs: 0, untilMs: 60_000 },
            ...{ value: 7, events: 7, decidedAtMs: 61_000 },
          },
        ],
      },
      streamsOf: async () => [],
    },
  }
}

const call = (args: object) => ({ principal, args, signal: new AbortController().signal }) as never

test('a thousand rules that fire in a thousand groups fit; what does not is told', async () => {
  const rules = Array.from({ length: 1_000 }, (_, n) => ruleOf(n + 1))
  const text = await listAlertsTool(depsOf(rules) as never).run(call({}))
  assert.ok(text.length <= MCP_RESULT_CHARS_MAX, String(text.length))
  const told = JSON.parse(text)
  assert.deepEqual([told.firing, told.rules, told.truncated], [1_000, 1_000, true])
  assert.equal(told.alerts.length + told.left_out, 1_000)
  assert.ok(told.alerts.length >= 10)
})

test('what fires comes first, then what fails; what does nothing only when asked for', async () => {
  const rules = [
    ruleOf(1, { groupsFiring: 0 }),
    ruleOf(2, { groupsFiring: 0, groupsPending: 1 }),
    ruleOf(3, { groupsFiring: 0, problem: 'no rights' }),
    ruleOf(4),
    ruleOf(5, { groupsFiring: 0, settings: { ...settings, paused: true } }),
  ]
  const states = async (args: object) => {
    const { alerts } = JSON.parse(await listAlertsTool(depsOf(rules) as never).run(call(args)))
    return (alerts as { id: string; state: string }[]).map(({ id, state }) => `${id} ${state}`)
  }
  assert.deepEqual(await states({}), ['4 firing', '3 failing', '2 pending'])
  assert.deepEqual((await states({ all: true })).slice(3), ['1 quiet', '5 paused'])
})

test('one question for the groups of all rules, and values of groups to the digit', async () => {
  const [state] = groups
  const exact = [{ ...state!, groupJson: '[9007199254740993]' }]
  const deps = depsOf([ruleOf(1), ruleOf(2)], exact)
  const asked: (readonly number[])[] = []
  const { readGroupsOf } = deps.alerts.windows
  deps.alerts.windows.readGroupsOf = async (ids) => {
    asked.push(ids)
    return await readGroupsOf(ids)
  }
  const text = await listAlertsTool(deps as never).run(call({}))
  assert.equal(text.match(/"group":\{"service":9007199254740993\}/g)?.length, 2, text)
  assert.deepEqual(asked, [[1, 2]])
  const explained = await explainAlertTool(deps as never).run(call({ rule: 'rule-1' }))
  assert.match(explained, /"group":\{"service":9007199254740993\}/)
})

test('an explanation fits; without the right to read events it has none', async () => {
  const tool = explainAlertTool(depsOf([ruleOf(1)]) as never)
  const text = await tool.run(call({ rule: 'rule-1' }))
  assert.ok(text.length <= MCP_RESULT_CHARS_MAX, String(text.length))
  const told = JSON.parse(text)
  assert.deepEqual([told.fired.value, told.fired.threshold], [7, 3])
  assert.equal(told.groups.length + told.groups_left_out, 1_000)
  assert.equal(told.samples, null)
  assert.match(told.samples_hint, /events:read/)
  await assert.rejects(tool.run(call({ rule: 'rule-1', group: 'ffff' })), /no such group/)
  await assert.rejects(tool.run(call({ rule: 'none' })), /no rule/)
})

test('an owner who has lost his rights costs the samples, and nothing else', async () => {
  const deps = depsOf([ruleOf(1)])
  const streamsOf = async () => {
    throw new IngestError('forbidden', 'no valid token of the owner may read events any more')
  }
  const tool = explainAlertTool({ ...deps, alerts: { ...deps.alerts, streamsOf } } as never)
  const reader = { ...principal, scopes: new Set(['alerts:read', 'events:read']) }
  const told = JSON.parse(
    await tool.run({ ...(call({ rule: 'rule-1' }) as object), principal: reader } as never),
  )
  assert.equal(told.fired.value, 7)
  assert.equal(told.samples, null)
  assert.match(told.samples_hint, /may read events any more/)
})
