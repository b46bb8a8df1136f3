/** Goal: a browser that keeps nothing, or has no room, breaks nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keep, readKept } from '../../console/base/kept.ts'

/** Another store of the browser while `run` runs. */
function having(get: () => unknown, run: () => void): void {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'localStorage')
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, get })
  try {
    run()
  } finally {
    if (before === undefined) Reflect.deleteProperty(globalThis, 'localStorage')
    else Object.defineProperty(globalThis, 'localStorage', before)
  }
}

const refuse = () => {
  throw new DOMException('refused', 'SecurityError')
}

test('one that is there keeps what it is given', () => {
  const all = new Map<string, string>()
  const store = {
    getItem: (key: string) => all.get(key) ?? null,
    setItem: (key: string, text: string) => void all.set(key, text),
    removeItem: (key: string) => void all.delete(key),
  }
  having(
    () => store,
    () => {
      assert.equal(readKept('a'), undefined)
      assert.equal(keep('a', 'x'), true)
      assert.equal(readKept('a'), 'x')
      assert.equal(keep('a', undefined), true)
      assert.equal(readKept('a'), undefined)
    },
  )
})

test('one that is forbidden, missing or full keeps nothing, and says so', () => {
  const full = { getItem: () => 'x', setItem: refuse, removeItem: () => undefined }
  having(refuse, () => assert.deepEqual([readKept('a'), keep('a', 'x')], [undefined, false]))
  having(
    () => undefined,
    () => assert.deepEqual([readKept('a'), keep('a', undefined)], [undefined, false]),
  )
  having(
    () => full,
    () => {
      assert.deepEqual([readKept('a'), keep('a', 'y'), keep('a', undefined)], ['x', false, true])
    },
  )
})
