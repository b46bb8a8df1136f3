/**
 * Formats of vendors that nearly every team meets, as their own pages and the partner tables of
 * secret scanners describe them.
 */
export type VendorFormat = readonly [name: string, pattern: string]

const CODE_HOSTS: readonly VendorFormat[] = [
  ['GitHub personal token', 'ghp_{a36}'],
  ['GitHub OAuth token', 'gho_{a36}'],
  ['GitHub user-to-server token', 'ghu_{a36}'],
  ['GitHub server-to-server token', 'ghs_{a36}'],
  ['GitHub refresh token', 'ghr_{a76}'],
  ['GitHub fine-grained token', 'github_pat_11{U20}_{a59}'],
  ['GitLab personal token', 'glpat-{u20}'],
  ['GitLab routable token', 'glpat-{u40}.01{l7}'],
  ['GitLab deploy token', 'gldt-{u20}'],
  ['GitLab runner token', 'glrt-{u20}'],
  ['GitLab routable runner token', 'glrt-t1_{u40}.01{l7}'],
  ['GitLab job token', 'glcbt-64_{u20}'],
  ['GitLab trigger token', 'glptt-{x40}'],
  ['GitLab feed token', 'glft-{u20}'],
  ['GitLab agent token', 'glagent-{u50}'],
  ['GitLab application secret', 'gloas-{x64}'],
  ['GitLab runner registration', 'GR1348941{u20}'],
  ['Atlassian API token', 'ATATT3xFfGF0{u171}={X8}'],
  ['Bitbucket app password', 'ATBB{a24}{X8}'],
  ['Sourcegraph token', 'sgp_{x16}_{x40}'],
]

const CLOUDS: readonly VendorFormat[] = [
  ['AWS access key id', 'AKIA{B16}'],
  ['AWS temporary key id', 'ASIA{B16}'],
  ['AWS Bedrock key', 'ABSKQmVkcm9ja0FQSUtleS{b108}='],
  ['AWS Bedrock short-lived key', 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29tLz9BY3Rpb249{b280}'],
  ['Google API key', 'AIza{u35}'],
  ['Google OAuth secret', 'GOCSPX-{u28}'],
  ['Google access token', 'ya29.a0{u180}'],
  ['Google refresh token', '1//0{l1}{u12}CgYIARAAGA{u66}'],
  ['Azure AD client secret', '{a3}8Q~{a12}_{a8}.{a10}'],
  ['Azure storage connection', 'AccountName=acmelogs;AccountKey={b86}==;EndpointSuffix=core'],
  ['Azure DevOps token', '{a76}AZDO{a4}'],
  ['DigitalOcean token', 'dop_v1_{x64}'],
  ['DigitalOcean OAuth token', 'doo_v1_{x64}'],
  ['DigitalOcean refresh token', 'dor_v1_{x64}'],
  ['Heroku key', 'HRKU-AA{u58}'],
  ['Fly.io token', 'fm2_{b220}'],
  ['Cloudflare global key', 'cfk_{a40}{x8}'],
  ['Cloudflare user token', 'cfut_{a40}{x8}'],
  ['Cloudflare account token', 'cfat_{a40}{x8}'],
  ['Cloudflare origin CA key', 'v1.0-{x24}-{x146}'],
  ['Terraform Cloud token', '{a14}.atlasv1.{a67}'],
  ['Pulumi token', 'pul-{x40}'],
  ['Vault service token', 'hvs.CAES{u92}'],
  ['Vault batch token', 'hvb.AAAAAQ{u150}'],
  ['Doppler personal token', 'dp.pt.{a43}'],
  ['Doppler service token', 'dp.st.prd.{a43}'],
  ['age key', 'AGE-SECRET-KEY-1{q58}'],
  ['1Password service token', 'ops_eyJ{b260}'],
  ['PlanetScale password', 'pscale_pw_{u43}'],
  ['PlanetScale token', 'pscale_tkn_{u43}'],
  ['Databricks token', 'dapi{x32}'],
]

const PACKAGES_AND_CI: readonly VendorFormat[] = [
  ['npm token', 'npm_{a36}'],
  ['npm legacy token in .npmrc', '//npm.acme.example/:_authToken={g}'],
  ['PyPI token', 'pypi-AgEIcHlwaS5vcmc{u150}'],
  ['RubyGems key', 'rubygems_{x48}'],
  ['Docker Hub token', 'dckr_pat_{u27}'],
  ['Postman key', 'PMAK-{x24}-{x34}'],
  ['SonarQube user token', 'squ_{x40}'],
  ['SonarQube project token', 'sqp_{x40}'],
  ['Prefect key', 'pnu_{a36}'],
]

const OBSERVABILITY: readonly VendorFormat[] = [
  ['Grafana cloud token', 'glc_eyJvIjoi{b96}=='],
  ['Grafana service token', 'glsa_{a32}_{x8}'],
  ['Grafana legacy key', 'eyJrIjoi{a80}='],
  ['Sentry organization token', 'sntrys_eyJpYXQiOjE3{a60}LCJyZWdpb25fdXJs{a44}_{b43}'],
  ['New Relic user key', 'NRAK-{U27}'],
  ['New Relic insert key', 'NRII-{u32}'],
  ['PostHog personal key', 'phx_{a43}'],
]

const MESSAGES: readonly VendorFormat[] = [
  ['Slack bot token', 'xoxb-{d12}-{d13}-{a24}'],
  ['Slack user token', 'xoxp-{d12}-{d12}-{d13}-{x32}'],
  ['Slack app token', 'xapp-1-A{U10}-{d13}-{x64}'],
  ['Slack refresh token', 'xoxe-1-{a146}'],
  ['Slack webhook', 'https://hooks.slack.com/services/T{U8}/B{U10}/{a24}'],
  ['Telegram bot token', '{d10}:AA{u33}'],
  ['Discord bot token', 'MT{a24}.G{a5}.{a38}'],
  ['Facebook access token', 'EAAC{a160}'],
  ['Twilio key', 'SK{x32}'],
  ['SendGrid key', 'SG.{u22}.{u43}'],
  ['Mailgun key', 'key-{x32}'],
  ['Mailchimp key', '{x32}-us1{d1}'],
]

const BUSINESS: readonly VendorFormat[] = [
  ['Stripe secret key', 'sk_live_{a24}'],
  ['Stripe long secret key', 'sk_live_51{a97}'],
  ['Stripe test key', 'sk_test_51{a97}'],
  ['Stripe restricted key', 'rk_live_{a99}'],
  ['Square access token', 'EAAA{u60}'],
  ['Square OAuth secret', 'sq0csp-{u43}'],
  ['Shopify access token', 'shpat_{x32}'],
  ['Shopify shared secret', 'shpss_{x32}'],
  ['EasyPost key', 'EZAK{a54}'],
  ['Shippo token', 'shippo_live_{x40}'],
  ['Duffel token', 'duffel_live_{u43}'],
  ['Typeform token', 'tfp_{a44}_{a14}'],
  ['HubSpot private app token', 'pat-na1-{g}'],
  ['Airtable token', 'pat{a14}.{x64}'],
  ['Notion token', 'ntn_{d11}{a35}'],
  ['Linear key', 'lin_api_{a40}'],
]

const MODELS: readonly VendorFormat[] = [
  ['OpenAI legacy key', 'sk-{a20}T3BlbkFJ{a20}'],
  ['OpenAI project key', 'sk-proj-{u74}T3BlbkFJ{u74}'],
  ['OpenAI service key', 'sk-svcacct-{u74}T3BlbkFJ{u74}'],
  ['OpenAI admin key', 'sk-admin-{u58}T3BlbkFJ{u58}'],
  ['Anthropic key', 'sk-ant-api03-{u93}AA'],
  ['Anthropic admin key', 'sk-ant-admin01-{u93}AA'],
  ['Anthropic OAuth token', 'sk-ant-oat01-{u93}AA'],
  ['Hugging Face token', 'hf_{L34}'],
  ['Pinecone key', 'pcsk_{a6}_{a63}'],
  ['Langfuse secret key', 'sk-lf-{g}'],
]

export const KNOWN_VENDORS: readonly VendorFormat[] = [
  ...CODE_HOSTS,
  ...CLOUDS,
  ...PACKAGES_AND_CI,
  ...OBSERVABILITY,
  ...MESSAGES,
  ...BUSINESS,
  ...MODELS,
]
