/**
 * The formats of secrets, a line each: the kind that is shown, and patterns. A new vendor is one
 * line here, and a row of `bench/redaction/sets/value-secrets.ndjson` that is written from the
 * vendor's description and not from this line.
 *
 * The patterns are a subset of JavaScript's regular expressions, which `secret-pattern.ts` defines.
 * A token must not begin or end inside a word; `secrets.ts` checks that, and masks.
 *
 * Only formats that are precise by themselves are here: a literal of the vendor's, and what is at
 * fixed distances from it. 32 hex digits, a UUID or base64 of some length mean nothing without the
 * name beside them; rules for field names cover these. Lengths are those that vendors document or
 * that public scanners use, widened where a vendor has lengthened tokens before.
 */

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
/** What one may say of a base64 body. */
const BASE64 = '[A-Za-z0-9+/=]'

type Row = readonly [kind: string, ...patterns: readonly string[]]

/** A space as forms spell it: the scheme is in the run of its token (RFC 6750). */
const SCHEMES: readonly Row[] = [
  ['authorization', 'Bearer\\+[\\w.~/-]{20,}', 'bearer\\+[\\w.~/-]{20,}'],
]

const CLOUDS: readonly Row[] = [
  ['alibaba_key', 'LTAI[A-Za-z0-9]{12,24}', 'STS\\.N[A-Z][A-Za-z0-9]{18,30}'],
  ['aws_access_key', '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}', 'A3T[A-Z0-9][A-Z2-7]{16}'],
  // Temporary credentials: protocol buffers that begin alike.
  ['aws_session_token', `(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)${BASE64}{20,}`],
  ['aws_bedrock_key', `ABSK${BASE64}{100,}`, `bedrock-api-key-${BASE64}{40,}`],
  ['amazon_secret', `amzn\\.mws\\.${UUID}`, 'amzn1\\.oa2-cs\\.v1\\.[0-9a-f]{64}'],
  // Keys of storage accounts, and of the message services; 64 and 32 bytes as base64.
  ['azure_key', `AccountKey=${BASE64}{86,90}`, `SharedAccessKey=${BASE64}{43,90}`],
  // Entra ID's client secrets, and keys that Azure marks at a fixed place before their end.
  ['azure_client_secret', '(?<=[\\w.~-]{3}\\dQ~)[\\w.~-]{31,34}'],
  ['azure_key', '[A-Za-z0-9+/]{33}(?:AIoT|AzCa|AZEG)[A-P][A-Za-z0-9+/]{5}'],
  ['azure_key', '[A-Za-z0-9+/]{76}(?:ACDb|APIM)[A-Za-z0-9+/]{5}[AQgw]'],
  ['azure_key', '[\\w-]{44}AzFu[\\w-]{5}[AQgw]', '[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}'],
  ['azure_key', '(?<=[A-Za-z0-9+/]{33}\\+)(?:ARm|AEh|ASb)[A-P][A-Za-z0-9+/]{5}'],
  ['azure_key', '(?<=[A-Za-z0-9+/]{76}\\+)(?:ASt|ABa|AMC)[A-Za-z0-9+/]{5}[AQgw]'],
  ['azure_key', '(?<=[A-Za-z0-9+/]{42}\\+)ACR[A-D][A-Za-z0-9+/]{5}'],
  [
    'azure_key',
    '[A-Za-z0-9]{52}JQQJ9[9DH][A-Za-z0-9]{26}',
    '[A-Za-z0-9]{52}JQQJ9[9DH][A-Za-z0-9]{28}',
  ],
  ['azure_devops_token', '[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}', '[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{5}'],
  ['baidu_key', 'bce-v3/ALTAK-[A-Za-z0-9]{21}/[0-9a-f]{40}'],
  ['cloudflare_token', 'cf(?:k|ut|at)_[\\w-]{40,72}'],
  ['cloudflare_key', 'v1\\.0-[0-9a-f-]{160,}'],
  ['digitalocean_token', 'd(?:op|oo|or)_v1_[0-9a-f]{64}', 'DO00[A-Z0-9]{16}'],
  ['exoscale_key', 'EXO[0-9a-f]{24,32}'],
  ['fly_token', 'fm2_[\\w+/=-]{40,}', 'fm1[ra]_[\\w+/=-]{40,}', 'fo1_[\\w-]{40,}'],
  ['google_api_key', 'AIza[\\w-]{35}', 'AQ\\.Ab[\\w-]{30,}'],
  ['google_oauth', 'GOCSPX-[\\w-]{28}', 'ya29\\.[\\w-]{40,}', '1//0[\\w-]{40,}', '4/0A[\\w-]{50,}'],
  ['firebase_key', '(?<=AAAA[\\w-]{7}:)APA91b[\\w-]{134}'],
  ['heroku_key', 'HRKU-AA[\\w-]{58}'],
  ['netlify_token', 'nf[pcoub]_[A-Za-z0-9]{36,60}'],
  ['render_key', 'rnd_[A-Za-z0-9]{28,40}'],
  ['scaleway_key', 'SCW[A-Z0-9]{17}'],
  ['scalingo_token', 'tk-us-[\\w-]{48}'],
  ['tencent_key', 'AKID[A-Za-z0-9]{32}'],
  ['upcloud_token', 'ucat_[A-Za-z0-9]{24,32}'],
  ['vercel_token', 'vc[piark]_[\\w-]{56}', 'vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{30,}'],
  ['volcengine_key', 'AKLT[A-Za-z0-9]{40,80}'],
  ['yandex_token', 'AQVN[\\w-]{35,38}', 'y0_[\\w-]{50,}', 't1\\.[\\w=-]{20,400}\\.[\\w-]{86}'],
  ['yandex_token', 'YC[MNOP][\\w-]{37}', 'YCAJE[\\w-]{20}'],
]

const DATA: readonly Row[] = [
  ['aiven_password', 'AVNS_[\\w-]{19}'],
  ['airtable_token', 'pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}'],
  ['clickhouse_key', '4b1d[A-Za-z0-9]{38}'],
  ['cockroach_key', 'CCDB1_[A-Za-z0-9]{21,22}_[A-Za-z0-9]{40}'],
  ['confluent_key', 'cflt[A-Za-z0-9+/]{60}'],
  ['databricks_token', 'dapi[0-9a-f]{32}', '(?:dose|dkea)[0-9a-f]{32}'],
  ['dbt_token', 'dbt[cuas]_[\\w-]{30,}'],
  ['elastic_key', 'essu_[\\w=-]{60,}'],
  ['mongodb_secret', 'mdb_sa_sk_[\\w-]{40}'],
  ['neon_key', 'napi_[a-z0-9]{40,80}'],
  ['notion_token', 'ntn_[A-Za-z0-9]{40,60}', 'secret_[A-Za-z0-9]{43}'],
  ['pinecone_key', 'pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,66}'],
  ['planetscale_token', 'pscale_(?:pw|tkn|oauth)_[\\w.~+/=-]{32,}'],
  ['prefect_key', 'pn[ub]_[A-Za-z0-9]{36}'],
  [
    'supabase_token',
    'sbp_[0-9a-f]{40}',
    'sbp_(?:v0|oauth)_[0-9a-f]{40}',
    'sb_secret_[\\w-]{24,60}',
  ],
]

const FORGES: readonly Row[] = [
  ['atlassian_token', 'AT(?:ATT|CTT)3[\\w=~+/-]{40,}', 'ATBB[A-Za-z0-9]{24,40}'],
  ['atlassian_token', 'ATTA[A-Za-z0-9]{60,76}', 'BBDC-[A-Za-z0-9+/_-]{40,50}'],
  ['buildkite_token', 'bk[a-z]{2,3}_[\\w-]{40,}'],
  ['circleci_token', 'CCIP(?:AT|RJ)_\\w{40,}'],
  ['github_token', 'gh[pour]_[A-Za-z0-9]{36,251}', 'github_pat_\\w{36,}'],
  // Installation tokens: opaque, or since 2026 a JWT after the app's number.
  ['github_token', 'ghs_[\\w.-]{36,}'],
  ['gitlab_token', 'gl(?:pat|dt|rt|rtr|ptt|soat|oas|ft|wt)-[\\w-]{20,}'],
  ['gitlab_token', 'gl(?:ffct|imt|agent|cbt)-[\\w-]{20,}', 'GR1348941[\\w-]{20}'],
  ['gitlab_session', '_gitlab_session=[0-9a-z]{32}'],
  ['harness_token', '[ps]at\\.[\\w-]{22}\\.[A-Za-z0-9]{24}\\.[A-Za-z0-9]{20}'],
  ['octopus_key', 'API-[A-Z0-9]{26}'],
  ['pulumi_token', 'pul-[0-9a-f]{40}'],
  ['sonarqube_token', 'sq[apu]_[0-9a-f]{40}'],
  ['sourcegraph_token', 'sgp_(?:[0-9a-f]{16}_|local_|)[0-9a-f]{40}', 'sl[kg]_[0-9a-f]{64}'],
  ['terraform_token', '(?<=[A-Za-z0-9]{14}\\.)atlasv1\\.[\\w=-]{60,70}'],
]

const PACKAGES: readonly Row[] = [
  ['artifactory_key', 'AKCp[A-Za-z0-9]{65,75}', 'cmVmd[A-Za-z0-9]{59}'],
  ['clojars_token', 'CLOJARS_[A-Za-z0-9]{60}'],
  ['crates_token', 'cio[A-Za-z0-9]{32}'],
  ['docker_token', 'dckr_[po]at_[\\w-]{20,60}'],
  ['npm_token', 'npm_[A-Za-z0-9]{36}', '_authToken=[\\w+/=.-]{20,}'],
  ['nuget_key', 'oy2[a-z0-9]{43}'],
  ['openvsx_token', `ovsx(?:at|p)_${UUID}`],
  ['packagist_token', 'packagist_[a-z]{3}_[0-9a-f]{60,}'],
  ['pypi_token', 'pypi-AgEIcHlwaS5vcmc[\\w-]{40,}', 'pypi-AgENdGVzdC5weXBpLm9yZw[\\w-]{40,}'],
  ['rubygems_key', 'rubygems_[0-9a-f]{48}'],
]

const MODELS: readonly Row[] = [
  ['anthropic_key', 'sk-ant-[\\w-]{32,}'],
  ['anyscale_key', 'esecret_[A-Za-z0-9]{24,}'],
  ['apify_token', 'apify_api_[A-Za-z0-9]{34,}'],
  ['brave_key', 'BSA[A-Za-z0-9][\\w-]{27}'],
  ['cerebras_key', 'csk-[a-z0-9]{48}'],
  ['cursor_key', 'key_[0-9a-f]{64}', 'crsr_[0-9a-f]{64}'],
  // DeepSeek, DashScope; Moonshot, SiliconFlow, Stability; OpenAI's old ones.
  ['ai_key', 'sk-[0-9a-f]{32}', 'sk-[A-Za-z0-9]{48}'],
  ['devin_key', 'apk_user_[A-Za-z0-9+/=]{100,}', 'cog_[a-z2-7]{52}'],
  ['e2b_key', 'e2b_[0-9a-f]{40}'],
  ['elevenlabs_key', 'sk_[0-9a-f]{48}'],
  ['firecrawl_key', 'fc-[0-9a-f]{32}'],
  ['fireworks_key', 'fw_[A-Za-z0-9]{22,24}'],
  ['groq_key', 'gsk_[A-Za-z0-9]{52}'],
  ['huggingface_token', 'hf_[A-Za-z0-9]{34}', 'api_org_[A-Za-z0-9]{34}'],
  ['jina_key', 'jina_[\\w-]{40,}'],
  ['langfuse_key', `sk-lf-${UUID}`],
  ['langsmith_key', 'lsv2_(?:pt|sk)_\\w{40,60}'],
  ['minimax_key', 'sk-api-[\\w-]{100,}'],
  ['nvidia_key', 'nvapi-[\\w-]{60,80}'],
  ['openai_key', 'sk-(?:proj|svcacct|admin)-[\\w-]{32,}', '[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}'],
  ['openai_key', 'sess-[A-Za-z0-9]{40}'],
  ['openrouter_key', 'sk-or-v1-[0-9a-f]{64}'],
  ['perplexity_key', 'pplx-[A-Za-z0-9]{48}'],
  ['replicate_token', 'r8_[A-Za-z0-9]{37}'],
  ['tavily_key', 'tvly-[A-Za-z0-9-]{28,60}'],
  ['together_key', 'tgp_v1_[\\w-]{43}'],
  ['voyage_key', 'pa-[\\w-]{43}'],
  ['wandb_key', 'wandb_v1_\\w{60,90}'],
  ['xai_key', 'xai-[\\w-]{70,120}'],
]

const MONEY: readonly Row[] = [
  ['adyen_key', 'AQE[a-z]hmf[a-z][A-Za-z0-9+/=-]{40,}'],
  ['duffel_token', 'duffel_(?:test|live)_[\\w=-]{43}'],
  ['easypost_key', 'EZ[AT]K[A-Za-z0-9]{54}'],
  ['flutterwave_key', 'FLWSECK(?:_TEST|)-[0-9a-h]{32}-X', 'FLWSECK_TEST-[0-9a-h]{12}'],
  ['gocardless_token', '(?:live|sandbox)_[\\w-]{40}'],
  ['lob_key', '(?:live|test)_[0-9a-f]{35}'],
  ['mercadopago_token', 'APP_USR-\\d{10,16}-\\d{6}-[0-9a-f]{32}-\\d{6,12}'],
  ['mollie_key', '(?:live|test)_[A-Za-z0-9]{30}'],
  ['paddle_key', 'pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}'],
  ['paypal_token', 'A21AA[\\w-]{80,}'],
  ['plaid_token', `access-(?:sandbox|development|production)-${UUID}`],
  ['polar_token', 'polar_[a-z]{2,4}_[\\w-]{30,}'],
  ['razorpay_key', 'rzp_(?:live|test)_[A-Za-z0-9]{14}'],
  ['shippo_token', 'shippo_(?:live|test)_[0-9a-fA-F]{40}'],
  ['shopify_token', 'shp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{32}', 'prtapi_[0-9a-f]{32}'],
  ['square_token', 'sq0(?:atp|csp)-[\\w-]{22,60}', 'EAAA[\\w-]{60}'],
  ['stripe_key', '[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}', 'whsec_[A-Za-z0-9+/=]{32,}'],
  ['stripe_key', '(?:pi|seti)_[A-Za-z0-9]{14,32}_secret_[A-Za-z0-9]{20,}'],
]

const MESSAGES: readonly Row[] = [
  // A number as base64url, the time, the signature.
  ['discord_token', '[MNO][DTjz][\\w-]{22,26}\\.[\\w-]{6}\\.[\\w-]{27,38}'],
  ['discord_webhook', 'discord(?:app|)\\.com/api/webhooks/[\\w+/=~-]{60,}'],
  ['facebook_token', 'EAA[A-Z][A-Za-z0-9]{100,}', 'IGQV[\\w-]{100,}'],
  ['hubspot_token', `pat-[a-z]{2}[1-9]-${UUID}`],
  ['mailersend_token', 'mlsn\\.[0-9a-f]{64}'],
  ['onesignal_key', 'os_v2_(?:app|org)_[a-z0-9]{100,112}'],
  ['samsara_token', 'samsara_api_[A-Za-z0-9]{30}'],
  ['intercom_token', `dG9rO${BASE64}{50,}`],
  ['klaviyo_key', 'pk_[0-9a-f]{34}'],
  ['linkedin_secret', 'WPL_AP1\\.[A-Za-z0-9+/=.]{16,}'],
  ['mailchimp_key', '(?<=[0-9a-f]{32}-)us[1-9]\\d?'],
  ['mailgun_key', 'key-[0-9a-f]{32}'],
  ['pinterest_token', 'pina_[A-Z0-9]{100,}'],
  ['brevo_key', 'x(?:keysib|smtpsib)-[0-9a-f]{64}-[A-Za-z0-9]{16}'],
  ['resend_key', 're_[A-Za-z0-9]{7,10}_[A-Za-z0-9]{20,30}'],
  ['salesforce_token', '(?<=00D[A-Za-z0-9]{12}!)A[QR][\\w.]{80,}', '5Aep861[\\w.]{70,}'],
  ['salesforce_token', '(?<=00D[A-Za-z0-9]{15}!)A[QR][\\w.]{80,}'],
  ['sendgrid_key', 'SG\\.[\\w.~+/=-]{66}'],
  ['slack_token', 'xox[abceoprsd]-[\\w-]{16,}', 'xapp-[\\w-]{20,}', 'xwfp-[\\w-]{20,}'],
  ['slack_webhook', 'hooks\\.slack\\.com/(?:services|workflows|triggers)/[\\w+/=~]{30,}'],
  ['teams_webhook', 'webhook\\.office\\.com/webhookb2/[\\w-]{36,}'],
  ['telegram_token', '(?<=\\d{8,10}:)AA[\\w-]{33}'],
  ['twilio_key', 'SK[0-9a-f]{32}'],
  ['typeform_token', 'tfp_[\\w.=-]{40,70}'],
]

const WATCHING: readonly Row[] = [
  ['axiom_token', `xa[ap]t-${UUID}`],
  ['datadog_key', 'ddapp_[A-Za-z0-9]{34}'],
  ['dynatrace_token', 'dt0[a-z]\\d{2}\\.[\\w.-]{80,100}'],
  ['grafana_token', 'glc_[A-Za-z0-9+/=]{32,}', 'glsa_\\w{40,}', 'eyJrIjoi[A-Za-z0-9+/=]{40,}'],
  ['honeycomb_key', 'hc[a-z](?:ik|mk|lk)_[A-Za-z0-9]{40,64}'],
  ['launchdarkly_key', `(?:sdk|api)-${UUID}`],
  ['new_relic_key', 'NRAK-[A-Z0-9]{27}', 'NRI[IQ]-[\\w-]{32}', 'NR(?:JS|BR)-[0-9a-f]{19}'],
  ['new_relic_key', 'NRRA-[0-9a-f]{42}', '[0-9a-f]{36}NRAL', 'eu01xx[0-9a-f]{30}NRAL'],
  ['posthog_key', 'ph[xsar]_[A-Za-z0-9_-]{38,50}'],
  ['sentry_token', 'sntrys_[\\w+/=~]{40,}', 'sntryu_[0-9a-f]{64}'],
  ['statsig_key', 'secret-[A-Za-z0-9]{40,50}'],
]

const SAFES: readonly Row[] = [
  ['age_key', 'AGE-SECRET-KEY-1[A-Z0-9]{58}'],
  ['bitwarden_token', `0\\.${UUID}\\.[A-Za-z0-9]{30}`],
  ['doppler_token', 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.[\\w.-]{40,90}'],
  ['infisical_token', 'st\\.[0-9a-f-]{24,36}\\.[0-9a-f]{32}\\.[0-9a-f]{32}'],
  ['infracost_key', 'ico-[A-Za-z0-9]{32}'],
  ['maxmind_key', '[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk'],
  ['nats_seed', 'S[ACNOU][A-Z2-7]{56}'],
  ['netbird_token', 'nbp_[A-Za-z0-9]{36}'],
  ['onepassword_token', 'ops_eyJ[\\w+/=~-]{40,}'],
  ['onepassword_key', 'A3-[A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}'],
  ['onepassword_key', 'A3-[A-Z0-9]{6}-[A-Z0-9]{11}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}'],
  ['openshift_token', 'sha256~[\\w-]{43}'],
  ['ory_token', 'ory_[a-z]{2,6}_[\\w.-]{20,}'],
  ['stytch_secret', 'secret-(?:live|test)-[\\w=-]{30,}'],
  ['tailscale_key', 'tskey-[\\w-]{24,}'],
  // Root and periodic tokens are short; the others carry their state. `s.` before version 1.10.
  ['vault_token', 'hv[sbr]\\.[\\w-]{24}', 'hv[sbr]\\.[\\w-]{90,}', 's\\.[A-Za-z0-9]{24}'],
  // Extended private keys of Bitcoin, private keys of Nostr.
  ['wallet_key', 'xprv[1-9A-HJ-NP-Za-km-z]{107}', 'nsec1[a-z0-9]{58}'],
]

const WORK: readonly Row[] = [
  ['adafruit_key', 'aio_[A-Za-z0-9]{28}'],
  ['adobe_secret', 'p8e-[A-Za-z0-9_-]{32}'],
  ['aikido_token', 'AIK_CI_[A-Za-z0-9]{20,44}', 'AIK_SECRET_[A-Za-z0-9]{64}'],
  [
    'authress_key',
    '(?:scauth|authress)_[a-z0-9]{5,30}\\.[a-z0-9]{4,6}\\.acc[_-][\\w./+=-]{30,160}',
  ],
  ['beamer_key', 'b_[\\w=-]{44}'],
  ['canva_secret', 'cnvca[\\w-]{51}'],
  ['clickup_token', 'pk_\\d{5,9}_[A-Z0-9]{32}'],
  ['contentful_token', 'CFPAT-[\\w-]{43,64}'],
  ['defined_token', 'dnkey-[A-Za-z0-9_=]{26}-[A-Za-z0-9_=]{52}'],
  ['deno_token', 'dd[po]_[A-Za-z0-9]{36}'],
  ['dropbox_token', 'sl\\.[\\w.-]{130,}'],
  ['figma_token', 'fig[du]_[\\w-]{36,60}'],
  ['frameio_token', 'fio-u-[\\w=-]{64}'],
  ['inngest_key', 'signkey-(?:prod|test|branch)-[0-9a-f]{64}'],
  ['intra42_secret', 's-s4t2(?:ud|af)-[0-9a-f]{64}'],
  ['kong_token', '[ks]pat_[A-Za-z0-9]{40,60}'],
  ['linear_key', 'lin_(?:api|oauth)_[A-Za-z0-9]{40,64}'],
  ['mapbox_token', '[st]k\\.eyJ[\\w-]{40,400}\\.[\\w-]{20,}'],
  ['nylas_key', 'nyk_v0_[A-Za-z0-9]{40,}'],
  ['postman_key', 'PMAK-[0-9a-f]{24}-[0-9a-f]{34}', 'PMAT-[0-9A-Z]{26}'],
  ['readme_key', 'rdme_[a-z0-9]{70}'],
  ['settlemint_token', 'sm_[aps]at_[A-Za-z0-9]{16}'],
  ['sluice_key', 'la[xp]_[A-Za-z0-9]{1,16}_[A-Za-z0-9]{24,}'],
  ['snyk_token', 'snyk_[us]at\\.[\\w.-]{40,}'],
  ['socket_key', 'sktsec_[\\w-]{40,}'],
  ['trigger_key', 'tr_(?:dev|prod|stg|preview)_[A-Za-z0-9]{20,}'],
  ['unkey_key', 'unkey_[A-Za-z0-9]{20,}'],
  ['zuplo_key', 'zpka_\\w{32,60}'],
]

const KEYS_AND_TOKENS: readonly Row[] = [
  // A JWT once more as base64: the header begins with `alg`, `cty`, `enc`, `kid` or `typ`.
  ['jwt', `ZXlK(?:aGJHY2lPaU|amRIa2lPaU|bGJtTWlPaU|cmFXUWlP|MGVYQWlPaU)${BASE64}{40,}`],
  ['private_key', 'PuTTY-User-Key-File-[23]'],
]

export const SECRET_TABLE: readonly Row[] = [
  ...SCHEMES,
  ...CLOUDS,
  ...DATA,
  ...FORGES,
  ...PACKAGES,
  ...MODELS,
  ...MONEY,
  ...MESSAGES,
  ...WATCHING,
  ...SAFES,
  ...WORK,
  ...KEYS_AND_TOKENS,
]
