import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupMatchers, matchersParam, readMatchers } from '../../console/alerts/silence.ts'

test('matchers of a group have all digits, and are read as they are written', () => {
  const rule = { name: 'web', group_by: ['http.path', 'n'] }
  const matchers = groupMatchers(rule, ['"/a"', '9007199254740993'])
  assert.deepEqual(matchers, [
    { name: 'alertname', value: 'web' },
    { name: 'http_path', value: '/a' },
    { name: 'n', value: '9007199254740993' },
  ])
  assert.deepEqual(readMatchers(matchersParam(matchers)), matchers)
  assert.deepEqual(readMatchers('  a !~ "b c" \n\n'), [
    { name: 'a', value: 'b c', is_regex: true, is_equal: false },
  ])
  assert.throws(() => readMatchers('service cart'), /is not like/)
})
