/**
 * Goal: only an error after which PostgreSQL goes on says that a transaction was rolled back.
 * Method: errors as the driver makes them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endsServer } from '../../../src/store/raw/segment-store.ts'

test('after a PANIC nobody knows whether a COMMIT was made', () => {
  const errorOf = (severity?: string) => Object.assign(new Error('no space left'), { severity })
  assert.equal(endsServer(errorOf('PANIC')), true)
  assert.equal(endsServer(errorOf('FATAL')), true)
  assert.equal(endsServer(errorOf('PANIK')), true, 'in another language')
  assert.equal(endsServer(errorOf('ERROR')), false)
  assert.equal(endsServer(errorOf()), false, 'no error of the server')
})
