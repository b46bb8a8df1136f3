/**
 * Goal: only an error after which PostgreSQL goes on says that a transaction was rolled back.
 * Method: errors as the driver makes them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endsSession } from '../../../src/store/raw/segment-store.ts'

test('after a PANIC nobody knows whether a COMMIT was made', () => {
  const errorOf = (severity?: string) => Object.assign(new Error('no space left'), { severity })
  assert.equal(endsSession(errorOf('PANIC')), true)
  assert.equal(endsSession(errorOf('FATAL')), true)
  assert.equal(endsSession(errorOf('PANIK')), true, 'in another language')
  assert.equal(endsSession(errorOf('ERROR')), false)
  assert.equal(endsSession(errorOf()), false, 'no error of the server')
})
