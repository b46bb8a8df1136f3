/**
 * Goal: states go from window to window as the definition says, and what is decided of a window
 * depends on nothing else.
 * Method: random sequences of windows against a naive evaluation that looks at all of the past.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isBreach, OPERATORS } from '../../src/alerts/condition.ts'
import {
  decideWindow,
  type Judgement,
  type Memories,
  type SeenGroup,
  type SeenWindow,
} from '../../src/alerts/decide-window.ts'
import { type GroupMemory, isForgettable, stepGroup } from '../../src/alerts/group-step.ts'
import { ALERT_GROUP_MEMORY_MS, ALERT_GROUPS_MAX } from '../../src/limits.ts'
import { rounds } from '../support/fuzzing.ts'

const EVERY_MS = 10_000
const NO_WINDOW: SeenGroup[] = []

/** The state after the last of `breaches`, by the definition. */
function naive(breaches: readonly boolean[], of: number, within: number, keep: number): string {
  const isMet = (at: number) => {
    const last = breaches.slice(Math.max(0, at + 1 - within), at + 1)
    return last.filter(Boolean).length >= of
  }
  const last = breaches.length - 1
  for (let at = Math.max(0, last - keep); at <= last; at++) if (isMet(at)) return 'firing'
  return breaches.slice(-within).includes(true) ? 'pending' : 'inactive'
}

const PATIENCE = fc
  .record({ of: fc.integer({ min: 1, max: 4 }), more: fc.nat(3), keepFiring: fc.nat(3) })
  .map(({ of, more, keepFiring }) => ({ of, in: of + more, keepFiring }))

test('a group fires, waits and resolves as the definition says', () => {
  fc.assert(
    fc.property(PATIENCE, fc.array(fc.boolean(), { maxLength: 60 }), (patience, breaches) => {
      let memory: GroupMemory | undefined
      for (const [index, holds] of breaches.entries()) {
        const sight = { holds, value: undefined, hasEvents: true }
        const after = stepGroup(memory, sight, patience, index * EVERY_MS)
        const past = breaches.slice(0, index + 1)
        const expected = naive(past, patience.of, patience.in, patience.keepFiring)
        assert.equal(after.state, expected)
        const isNew = after.state !== (memory?.state ?? undefined)
        assert.equal(after.sinceMs === index * EVERY_MS, isNew || index === 0)
        assert.equal(after.firedMs === undefined, expected !== 'firing')
        // To forget it makes no difference to what comes.
        memory = isForgettable(after) ? undefined : after
      }
    }),
    { numRuns: rounds(300) },
  )
})

test('a window without events: a count is 0, or as `no_data` says', () => {
  const rule: Judgement = {
    ...{ of: 1, in: 1, keepFiring: 0, isGrouped: false, isCount: true, noData: 'ok' },
    condition: { op: '<', value: 1 },
  }
  const empty = { fromMs: 0, endMs: EVERY_MS, groups: NO_WINDOW, events: 0, groupCount: 0 }
  const one = { ...empty, groups: [{ groupJson: '[]', value: 5, events: 5 }], events: 5 }
  const decide = (changes: Partial<Judgement>, window: SeenWindow, before: Memories = new Map()) =>
    decideWindow({ ...rule, ...changes }, before, window)
  assert.equal(decide({}, empty).outcome, 'breach')
  assert.equal(decide({}, empty).value, 0)
  assert.equal(decide({}, one).outcome, 'clear')
  assert.equal(decide({ isCount: false }, empty).outcome, 'no_data')
  assert.equal(decide({ isCount: false, noData: 'fire' }, empty).outcome, 'breach')
  const large = { condition: { op: '>', value: 1 } } as const
  const fired = decide({ ...large, noData: 'keep' }, one)
  assert.equal(fired.outcome, 'breach')
  assert.equal(decide({ ...large, noData: 'keep' }, empty, fired.memories).outcome, 'breach')
  assert.equal(decide({ ...large, noData: 'keep' }, empty).outcome, 'no_data')
  assert.equal(decide(large, empty, fired.memories).transitions[0]?.kind, 'resolved')
})

/** All groups at once, from all of the past: what `decideWindow` is to say window by window. */
test('groups are judged apart, those that are absent too', () => {
  const names = ['["a"]', '["b"]', '["c"]']
  const seen = fc.array(fc.array(fc.nat(4), { minLength: 3, maxLength: 3 }), { maxLength: 30 })
  const rules = fc.record({
    patience: PATIENCE,
    op: fc.constantFrom(...OPERATORS),
    value: fc.nat(4),
    noData: fc.constantFrom('ok' as const, 'fire' as const, 'keep' as const),
  })
  fc.assert(
    fc.property(rules, seen, ({ patience, op, value, noData }, windows) => {
      const rule: Judgement = {
        ...{ ...patience, noData, isCount: true, isGrouped: true, condition: { op, value } },
      }
      let memories: Memories = new Map()
      const past = new Map<string, boolean[]>()
      const states = new Map<string, string>()
      for (const [index, counts] of windows.entries()) {
        const endMs = (index + 1) * EVERY_MS
        const groups = names
          .map((groupJson, at) => ({ groupJson, value: counts[at]!, events: counts[at]! }))
          .filter(({ events }) => events > 0)
        const events = groups.reduce((sum, group) => sum + group.events, 0)
        const window = {
          fromMs: endMs - EVERY_MS,
          endMs,
          groups,
          events,
          groupCount: groups.length,
        }
        const decision = decideWindow(rule, memories, window)
        const kinds: string[] = []
        for (const [at, name] of names.entries()) {
          const before = past.get(name)
          // A group begins with its first event.
          if (before === undefined && counts[at] === 0) continue
          const known = before ?? []
          const holds =
            counts[at] === 0 && noData !== 'ok'
              ? noData === 'fire' || (known.at(-1) ?? false)
              : isBreach(rule.condition, counts[at]!)
          const all = [...known, holds]
          past.set(name, all)
          const state = naive(all, patience.of, patience.in, patience.keepFiring)
          const from = states.get(name) ?? 'inactive'
          if (state !== from) kinds.push(`${name} ${from === 'firing' ? 'resolved' : state}`)
          states.set(name, state)
        }
        assert.deepEqual(
          decision.transitions.map(({ groupJson, kind }) => `${groupJson} ${kind}`).sort(),
          kinds.sort(),
        )
        memories = decision.memories
      }
    }),
    { numRuns: rounds(200) },
  )
})

test('a window has the value of the group that is the nearest to breaking the rule', () => {
  const rule: Judgement = {
    ...{ of: 1, in: 1, keepFiring: 0, isGrouped: true, isCount: true, noData: 'ok' },
    condition: { op: '<', value: 2 },
  }
  const window = (endMs: number, counts: Readonly<Record<string, number>>) => ({
    ...{ fromMs: endMs - EVERY_MS, endMs, events: 9, groupCount: 2 },
    groups: Object.entries(counts).map(([name, events]) => {
      return { groupJson: JSON.stringify([name]), value: events, events }
    }),
  })
  const both = window(EVERY_MS, { a: 4, b: 5 })
  const above = { ...rule, condition: { op: '>', value: 2 } as const }
  assert.equal(decideWindow(above, new Map(), both).value, 5)
  const { value, memories } = decideWindow(rule, new Map(), both)
  assert.equal(value, 4)
  const absent = decideWindow(rule, memories, window(2 * EVERY_MS, { b: 5 }))
  assert.deepEqual([absent.value, absent.outcome], [0, 'breach'], 'that of the one without events')
  assert.equal(decideWindow(above, new Map(), window(EVERY_MS, {})).value, undefined)
})

test('groups past the bound are counted, and what is remembered is bounded', () => {
  const rule: Judgement = {
    ...{ of: 1, in: 1, keepFiring: 0, isGrouped: true, isCount: true, noData: 'fire' },
    condition: { op: '>', value: 1_000 },
  }
  const window = (endMs: number, prefix: string, count: number) => ({
    ...{ fromMs: endMs - EVERY_MS, endMs, events: count, groupCount: count },
    groups: Array.from({ length: Math.min(count, ALERT_GROUPS_MAX) }, (_, index) => {
      return { groupJson: `["${prefix}${index}"]`, value: 1, events: 1 }
    }),
  })
  const first = decideWindow(rule, new Map(), window(EVERY_MS, 'a', 10_000))
  assert.equal(first.uncounted, 10_000 - ALERT_GROUPS_MAX)
  assert.equal(first.memories.size, ALERT_GROUPS_MAX)
  // None of them has events any more: all fire, and there is no place for new ones.
  const second = decideWindow(rule, first.memories, window(2 * EVERY_MS, 'b', 0))
  assert.equal(second.breachCount, ALERT_GROUPS_MAX)
  const third = decideWindow(rule, second.memories, window(3 * EVERY_MS, 'c', 10))
  assert.equal(third.uncounted, 10)
  assert.equal(third.memories.size, ALERT_GROUPS_MAX)
  // After a day without any they resolve and are forgotten.
  const lateMs = EVERY_MS + ALERT_GROUP_MEMORY_MS + EVERY_MS
  const late = decideWindow(rule, third.memories, window(lateMs, 'd', 0))
  assert.equal(late.transitions.filter(({ kind }) => kind === 'resolved').length, ALERT_GROUPS_MAX)
  assert.equal(late.memories.size, 0)
})
