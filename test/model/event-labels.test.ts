import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLevel } from '../../src/model/event-labels.ts'

const CASES: readonly (readonly [fields: Record<string, string | number>, level?: string])[] = [
  [{ level: 'WARNING' }, 'warn'],
  [{ level: 30 }, 'info'],
  [{ level: 'loud', severity: 'error' }, 'error'],
  [{ severity_number: 17 }, 'error'],
  [{ severity_number: 17, level: 'debug' }, 'debug'],
  [{ severity_number: '17' }],
  [{ Level: 'Error' }, 'error'],
  [{ level: '[WARN] ' }, 'warn'],
  [{ level: '\u001b[32minfo\u001b[39m' }, 'info'],
  [{ PRIORITY: '3' }, 'error'],
  [{ priority: 3 }],
  [{ '@l': 'Fatal' }, 'fatal'],
  [{ l: 3, L: 'debug' }, 'debug'],
  [{ SeverityNumber: 9 }, 'info'],
  [{ severity_number: 0 }],
  [{ severity_number: 25 }],
  [{ level: '' }],
  [{}],
]

test('the level is that of the first field that says one', () => {
  for (const [fields, level] of CASES) {
    const read = readLevel((path) => {
      const value = fields[path]
      return value === undefined
        ? undefined
        : { isNumber: typeof value === 'number', text: String(value) }
    })
    assert.equal(read, level, JSON.stringify(fields))
  }
})
