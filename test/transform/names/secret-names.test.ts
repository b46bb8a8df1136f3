/**
 * Goal: names of secrets are known by their last words, however they are spelled; what only looks
 * like one is not.
 * Method: tables; each name in the spellings of other languages is judged alike.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isSecretName,
  judgeName,
  LISTED_NAME,
  NO_NAME,
  SECRET_NAME,
  STRING_NAME,
  WEAK_NAME,
} from '../../../workers/transform/names/secret-names.ts'
import { LOOK_ALIKE_NAMES, SECRET_NAMES } from './name-table.ts'

const NAMES: readonly (readonly [kind: number, names: string])[] = [
  [LISTED_NAME, 'password Api-Key user.password AWS_SECRET_ACCESS_KEY password.policy sessionId'],
  [SECRET_NAME, 'userPassword stripe_secret_key user[password] api.key'],
  [SECRET_NAME, 'POSTGRES_PASSWORD GITHUB_TOKEN new_password X-Vault-Token password2 newpassword'],
  [SECRET_NAME, 'clientSecretValue password_hash passwordConfirmation private_key_pem contraseña'],
  [SECRET_NAME, 'private-token card_no session_key passcode keyStorePassword API_KEY_2'],
  [STRING_NAME, 'SMTP_PASS db_pass user_pw'],
  [WEAK_NAME, 'auth sid connect.sid tokens apiKeys invalid_password bearer pass'],
  [NO_NAME, 'next_page_token continuationToken cancellation_token token_count password_policy'],
  [NO_NAME, 'password_changed_at max_tokens secret_name secretRef key_id public_key author'],
  [NO_NAME, 'has_password mustChangePassword OLDPWD pageToken shipping_pin account_sid compass'],
  [NO_NAME, 'XDG_SESSION_ID authorization.k8s.io/decision secret.example.com/reason'],
  [LISTED_NAME, 'example.com/password authorization.k8s.io/token'],
  [NO_NAME, ' . [] key keys 2 monkey primary_key'],
]

test('names are judged by their last words', () => {
  for (const [kind, names] of NAMES) {
    for (const name of names.split(' ')) assert.equal(judgeName(name), kind, name)
  }
})

test('the end of a name of any length is judged', () => {
  assert.equal(judgeName(`${'a_'.repeat(100_000)}password`), SECRET_NAME)
  assert.equal(judgeName('A'.repeat(1_000_000)), NO_NAME)
})

test('names of known software are known, and few of their look-alikes are taken for them', (t) => {
  const missed = SECRET_NAMES.filter((name) => !isSecretName(name))
  const hits = LOOK_ALIKE_NAMES.filter((name) => isSecretName(name))
  t.diagnostic(`${SECRET_NAMES.length} names, missed: ${missed.join(' ')}`)
  t.diagnostic(`${LOOK_ALIKE_NAMES.length} look-alikes, hit: ${hits.join(' ')}`)
  assert(SECRET_NAMES.length >= 300 && LOOK_ALIKE_NAMES.length >= 300)
  assert(missed.length <= SECRET_NAMES.length * 0.05, `missed ${missed.length}`)
  assert(hits.length * 60 <= LOOK_ALIKE_NAMES.length, `hit ${hits.length}`)
})
