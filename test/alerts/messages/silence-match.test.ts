/**
 * Goal: a silence matches whole values, as Alertmanager's; no expression takes long, and none that
 * is too much silences anything.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertMatchers,
  SILENCE_STEPS_MAX,
  SilenceMatching,
} from '../../../src/alerts/messages/silence-match.ts'
import {
  ALERT_MATCHER_CHARS_MAX,
  ALERT_MATCHERS_MAX,
  ALERT_REGEX_INSTRUCTIONS_MAX,
} from '../../../src/limits.ts'
import type { SilenceMatcher } from '../../../src/store/alerts/silence-store.ts'
import { cpuNow } from '../../support/cpu-time.ts'

const matcher = (text: string): SilenceMatcher => {
  const [, name = '', op, value = ''] = /^(\w+)(=~|!~|!=|=)([\s\S]*)$/.exec(text)!
  return { name, value, is_regex: op!.endsWith('~'), is_equal: op!.startsWith('=') }
}
const silence = (...matchers: string[]) => ({
  ...{ silenceId: 1, owner: 'ann', fromMs: 0, untilMs: 1, comment: '', createdAtMs: 0 },
  ...{ state: 'active' as const, matchers: matchers.map(matcher) },
})
const isHeld = async (labels: Record<string, string>, ...matchers: string[]) =>
  (await new SilenceMatching([silence(...matchers)]).of(labels)).length > 0

test('all matchers must match, of whole values; a missing label is empty', async () => {
  const labels = { service: 'web-1', env: 'prod', text: 'a\nb' }
  const cases: [matchers: string[], isHeld: boolean][] = [
    [['service=web-1'], true],
    [['service=web'], false],
    [['service=~web'], false],
    [['service=~web-[0-9]+'], true],
    [['service=~web|db'], false],
    [['service=~web-.|db'], true],
    [['text=~a.b'], true],
    [['service!=db'], true],
    [['service!~web.*'], false],
    [['service=web-1', 'env=prod'], true],
    [['service=web-1', 'env=test'], false],
    [['team='], true],
    [['team!='], false],
    [['team=~'], true],
    [['service=~(?i)WEB-1'], true],
  ]
  for (const [matchers, expected] of cases) {
    assert.equal(await isHeld(labels, ...matchers), expected, matchers.join())
  }
})

test('what is no expression, too large, or silences everything is refused, and why', () => {
  const cases: [string[], RegExp][] = [
    [['a=~('], /"matchers\[0\].value": missing `\)`/],
    [['a=b', 'c=~)('], /"matchers\[1\].value": `\)` closes nothing/],
    [['a=~(?=b)'], /RE2 has no lookahead/],
    [['a=~(b)\\1'], /RE2 has no backreferences/],
    [
      [`a=~(abcdefghij){${ALERT_REGEX_INSTRUCTIONS_MAX / 10 + 10}}`],
      /ALERT_REGEX_INSTRUCTIONS_MAX/,
    ],
    [['a=~.*'], /that would be all/],
    [['a!=b', 'c='], /that would be all/],
  ]
  for (const [matchers, problem] of cases) {
    assert.throws(() => assertMatchers(matchers.map(matcher)), problem, matchers.join())
  }
  assertMatchers(['a=~.+', 'b!=c'].map(matcher))
})

test('hostile expressions and values: bounded work, and what is past it is told', async () => {
  const labels = (n: number) => ({
    service: `${'a'.repeat(ALERT_MATCHER_CHARS_MAX - 8)}${String(n).padStart(8, '0')}`,
  })
  const source = `service=~(a|aa|a*)*[ab]*a[ab]{60}.*${'x?'.repeat(200)}y`
  assertMatchers([matcher(source)])
  const many = Array.from({ length: 5 }, (_, n) => ({
    ...silence(...Array.from({ length: ALERT_MATCHERS_MAX }, () => source), `service!=${n}`),
  }))
  const matching = new SilenceMatching(many)
  const before = cpuNow()
  for (let n = 0; n < 200; n++) assert.deepEqual(await matching.of(labels(n)), [])
  const ms = cpuNow() - before
  assert.ok(ms < 10_000, `${ms} ms for ${SILENCE_STEPS_MAX} steps`)
  // A silence that would match is not met any more: the alert is told.
  const after = { ...silence('service=~a+[0-9]+') }
  const spent = new SilenceMatching([...many, after])
  for (let n = 0; n < 200; n++) await spent.of(labels(n))
  assert.deepEqual(await spent.of(labels(10_000)), [])
  assert.equal((await new SilenceMatching([after]).of(labels(1))).length, 1)
})
