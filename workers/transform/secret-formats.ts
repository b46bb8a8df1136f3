/**
 * The formats of secrets that begin with a literal, as data. What they have in common is done by
 * `secrets.ts`: bounded on both sides, never one byte repeated (a mask), linear in time.
 *
 * Lengths and alphabets are the vendors' current ones as the rules of public scanners have them,
 * widened where a vendor lengthened tokens before: a prefix this distinctive carries the precision,
 * not the exact length behind it.
 */

/** Bytes that tokens are made of: bit per alphabet, so that one table serves all. */
export const DIGIT = 1
export const UPPER = 2
export const LOWER = 4
export const HEX_LETTER = 8
export const UNDERSCORE = 16
export const DASH = 32
export const DOT = 64
/** The rest of base64 and of `token68` (RFC 9110): `+ / = ~`. */
export const BASE64_SIGN = 128

export const BYTE_CLASS = new Uint8Array(256)
for (let byte = 0x30; byte <= 0x39; byte++) BYTE_CLASS[byte] = DIGIT
for (let byte = 0x41; byte <= 0x5a; byte++) BYTE_CLASS[byte] = UPPER
for (let byte = 0x61; byte <= 0x7a; byte++) BYTE_CLASS[byte] = LOWER
for (const char of 'abcdefABCDEF') BYTE_CLASS[char.charCodeAt(0)]! |= HEX_LETTER
BYTE_CLASS[0x5f] = UNDERSCORE
BYTE_CLASS[0x2d] = DASH
BYTE_CLASS[0x2e] = DOT
for (const char of '+/=~') BYTE_CLASS[char.charCodeAt(0)] = BASE64_SIGN

export const HEX = DIGIT | HEX_LETTER
export const UPPER_DIGITS = DIGIT | UPPER
export const ALNUM = DIGIT | UPPER | LOWER
/** What `\w` matches; a token of letters and digits may not touch one of these. */
export const WORD = ALNUM | UNDERSCORE
/** base64url. */
export const WORD_DASH = WORD | DASH
export const WORD_DOT_DASH = WORD_DASH | DOT
export const BASE64 = ALNUM | BASE64_SIGN
export const BASE64_WORD = WORD_DASH | BASE64_SIGN

export interface SecretFormat {
  readonly kind: string
  readonly prefix: string
  /** Alphabet of what follows the prefix. */
  readonly alphabet: number
  readonly min: number
  /** No more than this many bytes of the alphabet follow; Infinity when only `min` counts. */
  readonly max: number
  /** Tells the few formats apart that a count of bytes does not describe. */
  readonly rule?: 'jwt' | 'legacy_openai' | 'sluice'
}

const ANY = Number.POSITIVE_INFINITY

function format(
  kind: string,
  prefixes: string,
  alphabet: number,
  min: number,
  max = min,
): SecretFormat[] {
  return prefixes.split(' ').map((prefix) => ({ kind, prefix, alphabet, min, max }))
}

export const SECRET_FORMATS: readonly SecretFormat[] = [
  ...format('aws_access_key', 'AKIA ASIA ABIA ACCA', UPPER_DIGITS, 16),
  ...format('github_token', 'ghp_ gho_ ghu_ ghr_', ALNUM, 36, 251),
  // Installation tokens: opaque, or since 2026 a JWT behind the app's number.
  ...format('github_token', 'ghs_', WORD_DOT_DASH, 36, ANY),
  ...format('github_token', 'github_pat_', WORD, 36, ANY),
  ...format('gitlab_token', 'glpat- gldt- glrt- glptt- glsoat- gloas- glft-', WORD_DASH, 20, ANY),
  ...format('gitlab_token', 'glffct- glimt- glagent- glcbt-', WORD_DASH, 20, ANY),
  ...format('google_api_key', 'AIza', WORD_DASH, 35),
  ...format('google_oauth', 'GOCSPX-', WORD_DASH, 28),
  ...format('google_oauth', 'ya29.', WORD_DASH, 40, ANY),
  ...format(
    'slack_token',
    'xoxb- xoxp- xoxe- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd-',
    WORD_DASH,
    16,
    ANY,
  ),
  ...format('slack_token', 'xapp-', WORD_DASH, 20, ANY),
  ...format('slack_webhook', 'hooks.slack.com/services/', WORD | BASE64_SIGN, 30, ANY),
  ...format('slack_webhook', 'hooks.slack.com/workflows/', WORD | BASE64_SIGN, 30, ANY),
  ...format('slack_webhook', 'hooks.slack.com/triggers/', WORD | BASE64_SIGN, 30, ANY),
  ...format('stripe_key', 'sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_', ALNUM, 10, ANY),
  ...format('stripe_key', 'whsec_', BASE64, 32, ANY),
  ...format('openai_key', 'sk-proj- sk-svcacct- sk-admin-', WORD_DASH, 32, ANY),
  { ...format('openai_key', 'sk-', WORD_DASH, 40, ANY)[0]!, rule: 'legacy_openai' },
  ...format('anthropic_key', 'sk-ant-', WORD_DASH, 32, ANY),
  ...format('openrouter_key', 'sk-or-v1-', HEX, 64),
  ...format('sendgrid_key', 'SG.', WORD_DOT_DASH | BASE64_SIGN, 66),
  ...format('npm_token', 'npm_', ALNUM, 36),
  ...format('pypi_token', 'pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw', WORD_DASH, 40, ANY),
  // Temporary credentials: protocol buffers that begin alike.
  ...format('aws_session_token', 'IQoJb3JpZ2lu FwoGZXIvYXdz', BASE64, 100, ANY),
  ...format('aws_bedrock_key', 'ABSK', BASE64, 100, ANY),
  // Keys of storage accounts, and of the message services; 64 and 32 bytes as base64.
  ...format('azure_key', 'AccountKey=', BASE64, 86, 90),
  ...format('azure_key', 'SharedAccessKey=', BASE64, 43, 90),
  ...format('digitalocean_token', 'dop_v1_ doo_v1_ dor_v1_', HEX, 64),
  ...format('shopify_token', 'shpat_ shpca_ shppa_ shpss_', HEX, 32),
  ...format('huggingface_token', 'hf_ api_org_', ALNUM, 34),
  ...format('databricks_token', 'dapi', HEX, 32),
  ...format('grafana_token', 'glc_', BASE64, 32, ANY),
  ...format('grafana_token', 'glsa_', WORD, 40, ANY),
  // Root and periodic tokens are short; the others carry their state.
  ...format('vault_token', 'hvs. hvb. hvr.', WORD_DASH, 24),
  ...format('vault_token', 'hvs. hvb. hvr.', WORD_DASH, 90, ANY),
  ...format(
    'doppler_token',
    'dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.',
    WORD_DOT_DASH,
    40,
    90,
  ),
  ...format('linear_key', 'lin_api_ lin_oauth_', ALNUM, 40, 64),
  ...format('postman_key', 'PMAK-', HEX | DASH, 59),
  ...format('pulumi_token', 'pul-', HEX, 40),
  ...format('rubygems_key', 'rubygems_', HEX, 48),
  ...format('sentry_token', 'sntrys_', WORD | BASE64_SIGN, 40, ANY),
  ...format('sentry_token', 'sntryu_', HEX, 64),
  ...format('notion_token', 'ntn_', ALNUM, 40, 60),
  ...format('age_key', 'AGE-SECRET-KEY-1', UPPER_DIGITS, 58),
  ...format('onepassword_token', 'ops_eyJ', BASE64_WORD, 40, ANY),
  ...format(
    'planetscale_token',
    'pscale_pw_ pscale_tkn_ pscale_oauth_',
    WORD_DOT_DASH | BASE64_SIGN,
    32,
    ANY,
  ),
  ...format('fly_token', 'fm2_ fm1r_ fm1a_ fo1_', BASE64_WORD, 40, ANY),
  ...format('atlassian_token', 'ATATT3', BASE64_WORD, 40, ANY),
  ...format('docker_token', 'dckr_pat_ dckr_oat_', WORD_DASH, 20, 60),
  ...format('groq_key', 'gsk_', ALNUM, 52),
  ...format('xai_key', 'xai-', ALNUM, 80),
  ...format('perplexity_key', 'pplx-', ALNUM, 48),
  ...format('replicate_token', 'r8_', ALNUM, 37),
  ...format('supabase_token', 'sbp_', HEX, 40),
  ...format('new_relic_key', 'NRAK-', UPPER_DIGITS, 27),
  ...format('square_token', 'sq0atp- sq0csp-', WORD_DASH, 22, 60),
  ...format('brevo_key', 'xkeysib-', ALNUM | DASH, 81),
  ...format('heroku_key', 'HRKU-AA', WORD_DASH, 58),
  ...format(
    'discord_webhook',
    'discord.com/api/webhooks/ discordapp.com/api/webhooks/',
    BASE64_WORD,
    60,
    ANY,
  ),
  ...format('teams_webhook', 'webhook.office.com/webhookb2/', WORD_DASH, 36, ANY),
  ...format('tailscale_key', 'tskey-auth- tskey-api- tskey-client- tskey-', WORD_DASH, 24, ANY),
  ...format('dynatrace_token', 'dt0c01. dt0s01. dt0s16.', WORD_DOT_DASH, 80, 100),
  ...format('artifactory_key', 'AKCp', ALNUM, 65, 75),
  ...format('netlify_token', 'nfp_', ALNUM, 36, 60),
  ...format('figma_token', 'figd_', WORD_DASH, 36, 60),
  ...format('circleci_token', 'CCIPAT_', WORD, 40, ANY),
  ...format('contentful_token', 'CFPAT-', WORD_DASH, 43, 64),
  ...format('alibaba_key', 'LTAI', ALNUM, 16, 24),
  ...format('nuget_key', 'oy2', ALNUM, 43),
  ...format('clojars_token', 'CLOJARS_', ALNUM, 60),
  ...format('openshift_token', 'sha256~', WORD_DASH, 43),
  ...format('dropbox_token', 'sl.', WORD_DOT_DASH, 130, ANY),
  ...format('nvidia_key', 'nvapi-', WORD_DASH, 60, 80),
  ...format('langsmith_key', 'lsv2_pt_ lsv2_sk_', WORD, 40, 60),
  ...format('notion_token', 'secret_', ALNUM, 43),
  ...format('supabase_token', 'sb_secret_', WORD_DASH, 24, 60),
  ...format('atlassian_token', 'ATCTT3', BASE64_WORD, 40, ANY),
  ...format('atlassian_token', 'ATBB', ALNUM, 24, 40),
  { ...format('sluice_key', 'lax_', WORD, 26, ANY)[0]!, rule: 'sluice' },
  { ...format('sluice_key', 'lap_', WORD, 26, ANY)[0]!, rule: 'sluice' },
  // PEM blocks as base64, in which Kubernetes and CI systems hand them around.
  ...format(
    'private_key',
    'LS0tLS1CRUdJTiBQUklWQVRFIEtFWS LS0tLS1CRUdJTiBSU0EgUFJJVkFURS',
    BASE64,
    16,
    ANY,
  ),
  ...format('private_key', 'LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS', BASE64, 16, ANY),
  ...format('private_key', 'LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUg', BASE64, 16, ANY),
  ...format('private_key', 'LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURS', BASE64, 16, ANY),
  { kind: 'jwt', prefix: 'ey', alphabet: WORD_DASH, min: 17, max: ANY, rule: 'jwt' },
]

/** Found by other means than a prefix; see `secrets.ts`. */
export const AUTHORIZATION_KIND = 'authorization'
export const URL_PASSWORD_KIND = 'url_password'
export const PRIVATE_KEY_KIND = 'private_key'
