/** What must stay: ordinary values of ordinary logs, many of them long, random or token-like. */
import type { Random } from '../random.ts'
import { LOOK_ALIKE_LINES } from './look-alike-lines.ts'
import { drawTemplate } from './templates.ts'

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const BASE64 = `${LOWER}${LOWER.toUpperCase()}0123456789+/`

function draw(random: Random, alphabet: string, count: number): string {
  let text = ''
  for (let i = 0; i < count; i++) text += alphabet[random.below(alphabet.length)]
  return text
}

function uuid(random: Random): string {
  return [8, 4, 4, 4, 12].map((count) => random.hex(count)).join('-')
}

export const LOOK_ALIKES: Readonly<Record<string, (random: Random) => string>> = {
  sha256: (r) => `sha256:${r.hex(64)}`,
  sha1: (r) => `commit ${r.hex(40)} merged`,
  md5: (r) => r.hex(32),
  uuid: (r) => `request ${uuid(r)} done`,
  'trace-parent': (r) => `00-${r.hex(32)}-${r.hex(16)}-01`,
  ulid: (r) => `01${draw(r, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 24)}`,
  'object-id': (r) => r.hex(24),
  image: (r) => `data:image/png;base64,iVBORw0KGgo${draw(r, BASE64, 4_000)}==`,
  base64: (r) => draw(r, BASE64, 20_000),
  'base64-url': (r) => draw(r, `${BASE64.slice(0, 62)}-_`, 20_000),
  pod: (r) => `payments-${r.hex(9)}-${draw(r, LOWER, 5)}`,
  version: (r) => `v${r.below(20)}.${r.below(90)}.${r.below(400)}-rc.1+build.${r.hex(8)}`,
  path: (r) => `/usr/lib/node_modules/sk-proj-config-loader/dist/index.${r.hex(8)}.js`,
  url: (r) => `https://api.example.com:8443/v2/users/${uuid(r)}/items?page_token=${r.below(99)}`,
  'url-at': (r) => `https://medium.example/@writer/post-${r.hex(12)}?user=a:b`,
  'url-user': () => 'ssh://git@github.com:22/acme/repo.git',
  email: () => 'mail from alice.smith@example.com:25 to bob@example.org accepted',
  image_digest: (r) => `docker-pullable://nginx:1.25@sha256:${r.hex(64)}`,
  masked_url: () => 'connecting to postgres://app:****@db.internal:5432/orders',
  masked_url_x: () => 'connecting to postgres://app:xxxxx@db.internal:5432/orders',
  template_url: (_) => `amqp://$${'{USER}'}:$${'{PASSWORD}'}@queue`,
  masked_token: () => `ghp_${'*'.repeat(36)}`,
  placeholder: () => `AKIA${'X'.repeat(16)}`,
  placeholder_word: () => 'set gitlab token to glpat-your-token-goes-here-now',
  too_short: (r) => `ghp_${r.hex(12)} and AKIA${'A1B2'}`,
  too_long: (r) => `AKIA${draw(r, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 30)}`,
  in_a_word: (r) => `MYAKIA${draw(r, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}`,
  basic_words: () => 'Basic authentication-required for this realm',
  basic_long_word: () => 'basic internationalization support is missing',
  bearer_challenge: () => 'WWW-Authenticate: Bearer realm="example", error="invalid_token"',
  bearer_challenge_bare: () => 'Bearer error=invalid_token,error_description=expired',
  bearer_masked: () => 'authorization: Bearer ********************',
  public_key: (r) => `-----BEGIN PUBLIC KEY-----\n${draw(r, BASE64, 64)}`,
  certificate: (r) => `-----BEGIN CERTIFICATE-----\n${draw(r, BASE64, 640)}`,
  private_words: () => 'no PRIVATE KEY found in keystore, -- BEGIN aborted',
  one_jwt_part: (r) => `eyJhbGciOiJub25lIn0 and v1.${r.hex(20)}.x`,
  java: () => 'com.example.eyes.Eyeglass.eyeShadowRenderer.eyJiggle at line 20',
  timestamp: () => '2025-11-21T10:22:33.123456789+01:00 level=info token_count=512',
  sql: () => "SELECT id FROM tokens WHERE next_page_token = 'abc' AND author = 'x'",
  arn: (r) => `arn:aws:iam::${100_000_000_000 + r.below(9)}:role/service-role/AIDAlike`,
  ipv6: () => '2001:0db8:85a3:0000:0000:8a2e:0370:7334',
  etag: (r) => `W/"${r.hex(40)}-gzip"`,
  user_agent: (r) =>
    `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/131.0.${r.below(999)}.0`,
  stack: () => 'at Object.<anonymous> (/app/node_modules/npm_lifecycle/sk_test_runner.js:12:5)',
  card: () => '4111 1111 1111 1111',
  twilio_account: (r) => `AC${r.hex(32)}`,
  phrase: () =>
    'pul-request opened; dapiary; hf_model_download_started; npm_config_registry_url_is_set',
  node_package: () => 'npm_package_dependencies_lodash_version_is_outdated_by_many',
  ...Object.fromEntries(
    LOOK_ALIKE_LINES.map((line) => [line, (random: Random) => drawTemplate(random, line)]),
  ),
}
