/**
 * Names of fields that hold secrets, as frameworks, containers, SDKs and protocols spell them, by
 * the kind of value that stands in them.
 */
import {
  type DrawSecret,
  drawCard,
  drawHardPassword,
  drawJwt,
  drawKey,
  drawPassword,
  drawPin,
  drawSessionId,
  drawSsn,
  drawToken,
  pattern,
} from './drawing.ts'

/** Words apart, so that a hundred names are not a hundred lines. */
function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

const PASSWORDS = words(`
  password Password PASSWORD passwd pwd Pwd userPassword user_password new_password newPassword
  old_password oldPassword current_password currentPassword password_confirmation confirmPassword
  passwordConfirm password1 password2 plainPassword initial_password temporary_password
  temporaryPassword admin_password adminPassword rootPassword root_password login_password
  DB_PASSWORD DB_PASS DATABASE_PASSWORD dbPassword db_password POSTGRES_PASSWORD PGPASSWORD
  MYSQL_PASSWORD MYSQL_ROOT_PASSWORD MYSQL_PWD MARIADB_ROOT_PASSWORD MONGO_INITDB_ROOT_PASSWORD
  REDIS_PASSWORD RABBITMQ_DEFAULT_PASS ELASTIC_PASSWORD KIBANA_PASSWORD SMTP_PASSWORD SMTP_PASS
  MAIL_PASSWORD EMAIL_HOST_PASSWORD smtp_auth_password LDAP_BIND_PASSWORD bindPassword
  spring.datasource.password spring.mail.password spring.data.redis.password
  javax.net.ssl.keyStorePassword server.ssl.key-store-password ssl.keystore.password
  ssl.truststore.password ssl.key.password keystorePassword trustStorePassword keyPassword
  sasl.password sasl_plain_password GF_SECURITY_ADMIN_PASSWORD KEYCLOAK_ADMIN_PASSWORD
  KC_DB_PASSWORD MINIO_ROOT_PASSWORD ansible_become_pass ansible_password ansible_ssh_pass
  ansible_become_password DOCKER_PASSWORD DOCKERHUB_PASSWORD CI_REGISTRY_PASSWORD TWINE_PASSWORD
  wifi_password wifiPassword mqtt_password ftp_password sftp_password proxy_password proxyPassword
  masterUserPassword MasterUserPassword administratorLoginPassword administrator_login_password
  adminPass SA_PASSWORD MSSQL_SA_PASSWORD ORACLE_PWD passphrase ssh_passphrase keyPassphrase
  privateKeyPassphrase GPG_PASSPHRASE user[password] user[password_confirmation] account.password
  passcode http_password basic_auth_password TF_VAR_db_password unlock_password
  encryption_password backup_password WORDPRESS_DB_PASSWORD NEO4J_PASSWORD CLICKHOUSE_PASSWORD
  hoodie.datasource.hive_sync.password hibernate.connection.password bind_pw user_pass dbpass
`)

const TOKENS = words(`
  token Token TOKEN access_token accessToken refresh_token refreshToken auth_token authToken
  session_token sessionToken bearer_token bearerToken api_token apiToken API_TOKEN GITHUB_TOKEN
  GH_TOKEN GITLAB_TOKEN CI_JOB_TOKEN NPM_TOKEN NODE_AUTH_TOKEN VAULT_TOKEN X-Vault-Token
  SLACK_TOKEN SLACK_BOT_TOKEN TELEGRAM_BOT_TOKEN DISCORD_TOKEN HF_TOKEN CONSUL_HTTP_TOKEN
  X-Consul-Token NOMAD_TOKEN X-Nomad-Token DIGITALOCEAN_TOKEN CLOUDFLARE_API_TOKEN CF_API_TOKEN
  SENTRY_AUTH_TOKEN SNYK_TOKEN SONAR_TOKEN CODECOV_TOKEN VERCEL_TOKEN NETLIFY_AUTH_TOKEN
  PYPI_TOKEN CARGO_REGISTRY_TOKEN serviceAccountToken csrf_token csrfToken csrfmiddlewaretoken
  authenticity_token XSRF-TOKEN X-XSRF-TOKEN X-CSRF-Token __RequestVerificationToken
  reset_password_token resetToken passwordResetToken confirmation_token invitation_token
  verification_token unlock_token remember_token rememberMeToken personal_access_token
  private-token PRIVATE-TOKEN JOB-TOKEN Deploy-Token x-auth-token X-Auth-Token X-Subject-Token
  X-Amz-Security-Token aws_session_token AWS_SESSION_TOKEN SessionToken SecurityToken
  X-Shopify-Access-Token x-access-token bearer oauth_token oauth_token_secret oauth2_token
  sas_token sasToken webhook_token bot_token botToken user_token magic_link_token mfaToken
  TWILIO_AUTH_TOKEN INFLUX_TOKEN INFLUXDB_TOKEN ROLLBAR_ACCESS_TOKEN customToken X-Gitlab-Token
  X-Plex-Token X-Figma-Token request.headers.x-auth-token LOGZIO_TOKEN SPLUNK_HEC_TOKEN
  BUILDKITE_AGENT_TOKEN TUNNEL_TOKEN DRONE_TOKEN X-Rollbar-Access-Token
`)

const KEYS = words(`
  secret SECRET client_secret clientSecret ClientSecret CLIENT_SECRET app_secret appSecret
  APP_SECRET SECRET_KEY secret_key secretKey SECRET_KEY_BASE secret_key_base DJANGO_SECRET_KEY
  JWT_SECRET jwtSecret JWT_SECRET_KEY SESSION_SECRET sessionSecret COOKIE_SECRET cookie_secret
  api_key apiKey apikey API_KEY ApiKey x-api-key X-API-Key X-Api-Key api.key
  Ocp-Apim-Subscription-Key DD_API_KEY DD-API-KEY DD-APPLICATION-KEY OPENAI_API_KEY
  ANTHROPIC_API_KEY x-goog-api-key GOOGLE_API_KEY GEMINI_API_KEY MISTRAL_API_KEY COHERE_API_KEY
  AZURE_OPENAI_API_KEY STRIPE_SECRET_KEY STRIPE_API_KEY stripe_secret_key STRIPE_WEBHOOK_SECRET
  webhook_secret webhookSecret signing_secret SLACK_SIGNING_SECRET signing_key signingKey
  encryption_key encryptionKey ENCRYPTION_KEY aws_secret_access_key AWS_SECRET_ACCESS_KEY
  SecretAccessKey secretAccessKey secret_access_key AZURE_CLIENT_SECRET ARM_CLIENT_SECRET
  access_key accessKey ACCESS_KEY private_key privateKey PRIVATE_KEY master_key masterKey
  RAILS_MASTER_KEY shared_secret sharedSecret consumer_secret consumerSecret
  TWITTER_CONSUMER_SECRET oauth_client_secret OAUTH_CLIENT_SECRET GOOGLE_CLIENT_SECRET
  GITHUB_CLIENT_SECRET hmac_secret hmac_key hmacKey SENDGRID_API_KEY MAILGUN_API_KEY
  ALGOLIA_API_KEY HEROKU_API_KEY HONEYCOMB_API_KEY FERNET_KEY AIRFLOW__CORE__FERNET_KEY
  AIRFLOW__WEBSERVER__SECRET_KEY NEXTAUTH_SECRET AUTH_SECRET SUPABASE_SERVICE_ROLE_KEY credential
  credentials device_secret user_secret pre_shared_key preSharedKey PresharedKey psk wifi_psk
  session_key sessionKey X-Honeycomb-Team SENTRY_SECRET_KEY MINIO_SECRET_KEY S3_SECRET_KEY
  s3.secret-key fs.s3a.secret.key AWS_SECRET_KEY api_keys Grafana-Api-Key X-Parse-Master-Key
  xApiKey partner_api_key storage_account_key
`)

const JWTS = words('id_token idToken jwt jwtToken jwt_token id-token')

const HEADERS = words(`
  authorization Authorization AUTHORIZATION Proxy-Authorization proxy_authorization
  HTTP_AUTHORIZATION request.headers.authorization http.request.header.authorization
  X-Forwarded-Authorization
`)

const COOKIES = words(`
  cookie Cookie Set-Cookie set-cookie set_cookie HTTP_COOKIE http.request.header.cookie
`)

const SESSIONS = words(`
  sessionid JSESSIONID PHPSESSID ASP.NET_SessionId connect.sid sid request.cookies.sessionid
`)

const PINS = words('pin PIN otp otp_code totp card_pin userPin')
const CARDS = words('card_number cardNumber CardNumber card_no credit_card_number creditCardNumber')
const CHECKS = words('cvv cvc CVV2 card_cvc cardCvv')
const SSNS = words('ssn SSN social_security_number socialSecurityNumber customer_ssn')

const GROUPS: readonly (readonly [names: readonly string[], draw: DrawSecret])[] = [
  [PASSWORDS, drawPassword],
  [PASSWORDS.slice(0, 12), drawHardPassword],
  [TOKENS, drawToken],
  [KEYS, drawKey],
  [JWTS, drawJwt],
  [HEADERS, pattern('ApiKey {u40}', '{a40}', 'Bearer {a32}', 'Token {x40}')],
  [COOKIES, pattern('theme=dark; session={l32}', '_app_session={a60}; path=/; HttpOnly')],
  [SESSIONS, drawSessionId],
  [PINS, drawPin],
  [CARDS, drawCard],
  // Four digits, as on cards of American Express.
  [CHECKS, pattern('{d4}')],
  [SSNS, drawSsn],
]

export const SECRET_NAMES: readonly (readonly [name: string, draw: DrawSecret])[] = GROUPS.flatMap(
  ([names, draw]) => names.map((name): [string, DrawSecret] => [name, draw]),
)
