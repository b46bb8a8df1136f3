/**
 * Goal: names of secrets are known by their last words, however they are spelled; what only looks
 * like one is not.
 * Method: tables; each name in the spellings of other languages is judged alike.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  DRAWN_NAME,
  isSecretName,
  judgeName,
  LISTED_NAME,
  NO_NAME,
  SECRET_NAME,
  STRING_NAME,
  WEAK_NAME,
} from '../../../workers/transform/names/secret-names.ts'
import { isSecretText } from '../../../workers/transform/names/secret-values.ts'
import { LOOK_ALIKE_NAMES, SECRET_NAMES } from './name-table.ts'

const NAMES: readonly (readonly [kind: number, names: string])[] = [
  [LISTED_NAME, 'password Api-Key user.password AWS_SECRET_ACCESS_KEY password.policy sessionId'],
  [SECRET_NAME, 'userPassword stripe_secret_key user[password] api.key'],
  [SECRET_NAME, 'POSTGRES_PASSWORD GITHUB_TOKEN new_password X-Vault-Token password2 newpassword'],
  [SECRET_NAME, 'clientSecretValue password_hash passwordConfirmation private_key_pem contraseña'],
  [SECRET_NAME, 'private-token card_no session_key passcode keyStorePassword API_KEY_2'],
  [STRING_NAME, 'SMTP_PASS db_pass user_pw'],
  [WEAK_NAME, 'auth sid connect.sid tokens apiKeys invalid_password bearer pass'],
  [SECRET_NAME, 'API_V3_KEY apiV3Key JOB_JWT_V2 VAULT_ENC_KEY SERVICE_ACCOUNT_JSON_BASE64'],
  [WEAK_NAME, 'recovery_keys_hex unseal_keys_b64'],
  [
    DRAWN_NAME,
    'ALCHEMY_KEY X-Pan-Key session storage_key encrypt.key tls_client_key_data WALLET_SEED',
  ],
  [DRAWN_NAME, 'GHE_PAT devise_pepper license client-key-data TF_TOKEN_app_terraform_io'],
  [
    NO_NAME,
    'PRIMARY_KEY CACHE_KEY X-Cache-Key SSH_KEY session_count has_session public_key_base64',
  ],
  [NO_NAME, 'alchemy_key idempotency-key X-Idempotency-Key SESSION_NAME license_type seed_nodes'],
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

test('under some names only what looks drawn at random is a secret', () => {
  const drawn = [
    'kT9vQ2mX7bR4nL8w',
    'live_kT9vQ2mX7bR4nL8wZ3',
    '9f86d081884c7d659a2feaa0c55ad015',
    'k3v9q2m7x4b8r1n6l5w0z2y7',
    'kT9vQ2m/X7bR4nL8w+Z3pA6s/D1fG5hJ0kE9rYu2',
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
  ]
  const others = [
    'default',
    'Apache-2.0 OR BSD-3-Clause',
    'a6f1c2d0-5b7e-4c19-9d83-2e4f60718293',
    'orders/2026-11/batch-00017',
    '20261126T091403123456Z',
    'InternalServerErrorException',
    'Base64EncodedStringValue',
    'src/main/java/com/acme/orders/OrderService2',
    'My-Service-Name-For-2026-And-Its-Second-Part',
    'https://example.com/kT9vQ2mX7bR4nL8w',
    '/etc/keys/kT9vQ2mX7bR4nL8w.pem',
    '12345678901234567890123456789012',
    'the quick brown fox jumps over the lazy dog',
  ]
  for (const text of drawn) assert(isSecretText(DRAWN_NAME, text), text)
  for (const text of others) assert(!isSecretText(DRAWN_NAME, text), text)
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
