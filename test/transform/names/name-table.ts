/**
 * Names of fields and variables as known software writes them: those that hold secrets, and those
 * that look like it. Written by hand from configuration, not derived from the rule.
 */
function names(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

export const SECRET_NAMES = names(`
  POSTGRES_PASSWORD PGPASSWORD POSTGRESQL_PASSWORD POSTGRES_REPLICATION_PASSWORD DB_PASSWORD
  DB_PASS DATABASE_PASSWORD MYSQL_PASSWORD MYSQL_ROOT_PASSWORD MYSQL_PWD MARIADB_ROOT_PASSWORD
  MONGO_INITDB_ROOT_PASSWORD MONGODB_PASSWORD REDIS_PASSWORD REDIS_AUTH REDISCLI_AUTH SA_PASSWORD
  MSSQL_SA_PASSWORD ORACLE_PWD CASSANDRA_PASSWORD NEO4J_AUTH CLICKHOUSE_PASSWORD
  INFLUXDB_ADMIN_TOKEN DOCKER_INFLUXDB_INIT_PASSWORD DOCKER_INFLUXDB_INIT_ADMIN_TOKEN
  ELASTIC_PASSWORD KIBANA_PASSWORD OPENSEARCH_INITIAL_ADMIN_PASSWORD COUCHDB_PASSWORD
  ARANGO_ROOT_PASSWORD MEILI_MASTER_KEY TYPESENSE_API_KEY QDRANT__SERVICE__API_KEY
  WEAVIATE_API_KEY PINECONE_API_KEY COSMOS_KEY RABBITMQ_DEFAULT_PASS RABBITMQ_ERLANG_COOKIE
  RABBITMQ_PASSWORD KAFKA_SASL_PASSWORD NATS_TOKEN NATS_PASSWORD MQTT_PASSWORD SASL_PASSWORD
  ssl.keystore.password ssl.truststore.password ssl.key.password sasl.jaas.config
  javax.net.ssl.keyStorePassword javax.net.ssl.trustStorePassword server.ssl.key-store-password
  server.ssl.key-password spring.datasource.password spring.redis.password
  spring.rabbitmq.password spring.mail.password spring.ldap.password spring.data.mongodb.password
  spring.cloud.vault.token jwt.secret app.jwtSecret hibernate.connection.password
  jasypt.encryptor.password management.datadog.metrics.export.api-key
  spring.security.oauth2.client.registration.github.client-secret security.jwt.token.secret-key
  keyStorePassword trustStorePassword keypass storepass AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
  aws_secret_access_key aws_session_token SecretAccessKey SessionToken secretAccessKey
  sessionToken AWS_BEARER_TOKEN_BEDROCK X-Amz-Security-Token SecretString master_password
  MasterUserPassword masterUserPassword AuthToken AZURE_CLIENT_SECRET ARM_CLIENT_SECRET
  ARM_ACCESS_KEY ARM_SAS_TOKEN AZURE_STORAGE_KEY AZURE_STORAGE_CONNECTION_STRING
  AZURE_STORAGE_SAS_TOKEN AZURE_OPENAI_API_KEY AZURE_SEARCH_KEY AZURE_COGNITIVE_KEY
  APPLICATIONINSIGHTS_CONNECTION_STRING AccountKey SharedAccessKey sharedAccessSignature
  primaryAccessKey administratorLoginPassword adminPassword clientSecret Ocp-Apim-Subscription-Key
  x-functions-key AzureAd:ClientSecret Jwt:Key ConnectionStrings EventHubConnectionString
  storageAccountKey GOOGLE_API_KEY GOOGLE_CLIENT_SECRET GOOGLE_CREDENTIALS_JSON
  GCP_SERVICE_ACCOUNT_KEY private_key FIREBASE_TOKEN FIREBASE_PRIVATE_KEY FCM_SERVER_KEY
  GOOGLE_MAPS_KEY x-goog-api-key RECAPTCHA_SECRET_KEY DIGITALOCEAN_ACCESS_TOKEN DIGITALOCEAN_TOKEN
  LINODE_TOKEN HCLOUD_TOKEN SCW_SECRET_KEY VULTR_API_KEY CLOUDFLARE_API_TOKEN CLOUDFLARE_API_KEY
  CF_API_TOKEN X-Auth-Key FASTLY_API_TOKEN HEROKU_API_KEY VERCEL_TOKEN NETLIFY_AUTH_TOKEN
  FLY_API_TOKEN RAILWAY_TOKEN RENDER_API_KEY ALICLOUD_SECRET_KEY TENCENTCLOUD_SECRET_KEY
  OCI_AUTH_TOKEN IBMCLOUD_API_KEY OS_PASSWORD VAULT_TOKEN VAULT_UNSEAL_KEY X-Vault-Token
  CONSUL_HTTP_TOKEN CONSUL_HTTP_AUTH NOMAD_TOKEN TF_VAR_db_password TFE_TOKEN PULUMI_ACCESS_TOKEN
  PULUMI_CONFIG_PASSPHRASE ANSIBLE_VAULT_PASSWORD ansible_password ansible_ssh_pass
  ansible_become_pass ansible_become_password GITHUB_TOKEN GH_TOKEN GITHUB_PAT_TOKEN
  GITHUB_WEBHOOK_SECRET GITHUB_APP_PRIVATE_KEY GITHUB_CLIENT_SECRET GITLAB_TOKEN
  GITLAB_PRIVATE_TOKEN PRIVATE-TOKEN JOB-TOKEN DEPLOY-TOKEN CI_JOB_TOKEN CI_REGISTRY_PASSWORD
  CI_DEPLOY_PASSWORD X-Gitlab-Token BITBUCKET_APP_PASSWORD ACTIONS_RUNTIME_TOKEN
  ACTIONS_ID_TOKEN_REQUEST_TOKEN CIRCLE_TOKEN CIRCLECI_TOKEN DRONE_RPC_SECRET DRONE_TOKEN
  BUILDKITE_AGENT_TOKEN JENKINS_API_TOKEN TRAVIS_TOKEN SONAR_TOKEN CODECOV_TOKEN
  COVERALLS_REPO_TOKEN SNYK_TOKEN NPM_TOKEN NODE_AUTH_TOKEN YARN_NPM_AUTH_TOKEN _authToken
  PYPI_TOKEN TWINE_PASSWORD POETRY_PYPI_TOKEN_PYPI UV_PUBLISH_TOKEN CARGO_REGISTRY_TOKEN
  GEM_HOST_API_KEY NUGET_API_KEY MAVEN_PASSWORD OSSRH_PASSWORD SIGNING_PASSWORD GPG_PASSPHRASE
  GPG_PRIVATE_KEY SSH_PRIVATE_KEY DOCKER_PASSWORD DOCKERHUB_TOKEN DOCKER_AUTH_CONFIG
  .dockerconfigjson X-Registry-Auth HUSKY_TOKEN ARTIFACTORY_API_KEY NEXUS_PASSWORD
  SENTRY_AUTH_TOKEN RENOVATE_TOKEN SECRET_KEY SECRET_KEY_BASE RAILS_MASTER_KEY DEVISE_SECRET_KEY
  DJANGO_SECRET_KEY EMAIL_HOST_PASSWORD APP_KEY APP_SECRET JWT_SECRET JWT_SECRET_KEY
  JWT_PRIVATE_KEY SESSION_SECRET COOKIE_SECRET NEXTAUTH_SECRET AUTH_SECRET BETTER_AUTH_SECRET
  FERNET_KEY AIRFLOW__CORE__FERNET_KEY AIRFLOW__WEBSERVER__SECRET_KEY FLASK_SECRET_KEY
  encryptionKey ENCRYPTION_KEY N8N_ENCRYPTION_KEY AUTH_KEY SECURE_AUTH_KEY LOGGED_IN_KEY NONCE_KEY
  AUTH_SALT SECURE_AUTH_SALT NONCE_SALT WORDPRESS_DB_PASSWORD WP_ADMIN_PASSWORD DRUPAL_DB_PASSWORD
  GF_SECURITY_ADMIN_PASSWORD GF_SECURITY_SECRET_KEY KEYCLOAK_ADMIN_PASSWORD KC_DB_PASSWORD
  KC_BOOTSTRAP_ADMIN_PASSWORD MINIO_ROOT_PASSWORD MINIO_SECRET_KEY AUTHENTIK_SECRET_KEY
  NEXTCLOUD_ADMIN_PASSWORD password passwd pwd user_password userPassword UserPassword
  user[password] user[password_confirmation] password_confirmation passwordConfirmation
  confirmPassword confirm_password new_password newPassword old_password oldPassword
  current_password currentPassword password1 password2 new_password1 repeatPassword
  retype_password newpassword password_hash passwordHash hashed_password password_digest
  encrypted_password encryptedPassword passwordSalt reset_password_token resetPasswordToken
  confirmation_token unlock_token remember_token authenticity_token csrfmiddlewaretoken csrf_token
  XSRF-TOKEN _csrf __RequestVerificationToken _token api_token apiToken two_factor_secret
  two_factor_recovery_codes otp_secret otpSecret totp_secret mfa_code otp_code backup_codes
  recovery_codes security_answer secretAnswer passcode user_pin card_pin atmPin old_pin newPin
  access_token accessToken refresh_token refreshToken id_token idToken id_token_hint client_secret
  client_assertion code_verifier registration_access_token subject_token actor_token logout_token
  device_code SAMLResponse oauth_token oauth_token_secret oauth_verifier consumerSecret
  consumer_key bearer bearer_token jwt jwtToken auth_token authToken X-Auth-Token X-Access-Token
  X-Session-Token X-Api-Key x-api-key X-API-Secret X-Plex-Token X-Shopify-Access-Token
  X-Figma-Token X-Cisco-Meraki-API-Key X-Rollbar-Access-Token DD-API-KEY DD-APPLICATION-KEY
  Api-Key Authorization Proxy-Authorization X-Authorization HTTP_AUTHORIZATION HTTP_COOKIE Cookie
  Set-Cookie session_cookie sessionCookie auth_cookie connect.sid PHPSESSID JSESSIONID
  ASP.NET_SessionId laravel_session session_key sessionKey STRIPE_SECRET_KEY STRIPE_API_KEY
  STRIPE_WEBHOOK_SECRET STRIPE_KEY stripe_token PAYPAL_CLIENT_SECRET BRAINTREE_PRIVATE_KEY
  RAZORPAY_KEY_SECRET SQUARE_ACCESS_TOKEN ADYEN_API_KEY card_number cardNumber credit_card_number
  ccNumber card_no cardNo cvv cvv2 card_cvc cardCvv securityCode TWILIO_AUTH_TOKEN
  TWILIO_API_KEY_SECRET SENDGRID_API_KEY MAILGUN_API_KEY MAILCHIMP_API_KEY POSTMARK_SERVER_TOKEN
  MANDRILL_KEY SMTP_PASSWORD SMTP_PASS smtp_password MAIL_PASSWORD IMAP_PASSWORD smtpPass
  relay_password VONAGE_API_SECRET PUSHER_APP_SECRET PUSHER_APP_KEY ABLY_API_KEY SLACK_BOT_TOKEN
  SLACK_SIGNING_SECRET SLACK_APP_TOKEN DISCORD_TOKEN DISCORD_BOT_TOKEN TELEGRAM_BOT_TOKEN
  TEAMS_APP_PASSWORD ZOOM_CLIENT_SECRET INTERCOM_ACCESS_TOKEN DD_API_KEY DATADOG_APP_KEY
  NEW_RELIC_LICENSE_KEY NEW_RELIC_API_KEY HONEYCOMB_WRITEKEY HONEYCOMB_API_KEY SPLUNK_HEC_TOKEN
  LOGGLY_TOKEN LOGDNA_INGESTION_KEY ROLLBAR_ACCESS_TOKEN BUGSNAG_API_KEY PAGERDUTY_API_TOKEN
  OPSGENIE_API_KEY SEGMENT_WRITE_KEY AMPLITUDE_API_KEY MIXPANEL_TOKEN LAUNCHDARKLY_SDK_KEY
  ALGOLIA_ADMIN_KEY ALGOLIA_API_KEY MAPBOX_ACCESS_TOKEN OPENAI_API_KEY OPENAI_KEY
  ANTHROPIC_API_KEY HF_TOKEN HUGGINGFACE_TOKEN COHERE_API_KEY LANGCHAIN_API_KEY
  LANGFUSE_SECRET_KEY REPLICATE_API_TOKEN GROQ_API_KEY SUPABASE_SERVICE_ROLE_KEY
  SUPABASE_SERVICE_KEY SUPABASE_JWT_SECRET LDAP_BIND_PASSWORD ldap_bind_pw bindpw bindPassword
  LDAP_ADMIN_PASSWORD krb5_password wpa_psk wpa_passphrase preSharedKey pre_shared_key
  snmp_community ipsec_psk wifi_password enable_secret admin_pass rootpw root_password_hash
  sudo_password vnc_password rdpPassword ftp_pass ftpPassword sftp_password proxy_password
  http_password basic_auth_password htpasswd private_key_pem privateKeyPem sshPrivateKey
  tls_private_key deploy_token signing_key signingSecret webhookSecret webhook_secret hmac_secret
  hmacKey shared_secret encryption_password passphrase sshPassphrase seed_phrase recoveryPhrase
  client_secret_value clientSecretValue secretValue api_secret apiSecret appSecret AppSecret
  api_key_value apikeys apiKeys tokens passwords contraseña senha motDePasse passwort kennwort
  wachtwoord`)

export const LOOK_ALIKE_NAMES = names(`
  next_page_token nextPageToken page_token pageToken NextToken nextToken ContinuationToken
  continuation_token continuationToken prevPageToken nextSyncToken syncToken syncToken cursorToken
  resumeToken cancellation_token cancellationToken CancellationToken cancelToken token_count
  tokenCount tokens_used tokensUsed max_tokens maxTokens max_new_tokens max_output_tokens
  token_type tokenType token_endpoint tokenEndpoint token_uri token_url tokenUrl token_expiry
  token_expires_in tokenExpiresAt token_expires_at token_ttl token_name token_id tokenId
  token_limit token_bucket tokenizer tokenized tokenize tokenization token_usage token_budget
  token_rate token_format token_issuer token_source token_status token_valid token_version
  token_endpoint_auth_method id_token_signing_alg_values_supported refresh_token_expires_in
  access_token_lifetime access_token_ttl accessTokenExpiresIn revoke_token_url subject_token_type
  requested_token_type token_type_hint eos_token bos_token pad_token unk_token mask_token
  sep_token cls_token unexpected_token first_token last_token start_token end_token stop_token
  pad_token_id eos_token_id bos_token_id vocab_tokens password_policy passwordPolicy
  password_changed_at passwordChangedAt password_length password_min_length minPasswordLength
  password_expires_at passwordExpiry password_expired passwordLastSet password_last_changed
  password_required passwordRequired password_reset_url password_reset_at password_reset_sent_at
  reset_password_sent_at reset_password_url password_strength password_attempts
  password_history_count password_hint password_field password_input passwordless
  passwordless_login has_password hasPassword is_password_set requires_password use_password
  allow_password_auth password_auth_enabled PasswordAuthentication password_file PASSWORD_FILE
  POSTGRES_PASSWORD_FILE password_authentication password_rotation_days password_manager
  password_encoder password_algorithm password_hash_algorithm password_validators
  forgot_password_url mustChangePassword show_password secret_name secretName secretRef secret_ref
  secretKeyRef secret_arn SecretArn secret_version secretVersion secret_type secret_path
  secret_count secrets_enabled secretsManager secret_engine secret_rotation_days secret_store
  secretStoreRef external_secret existingSecret imagePullSecrets tls_secret tlsSecret
  tlsSecretName ingress_secret secret_id_ttl secretary secretion client_secret_expires_at
  client_secret_basic has_secret is_secret key_id keyId kid key_name keyName key_type keyType
  key_size key_length key_usage keyUsage key_version keyspace keyword keywords keyboard key_count
  key_prefix key_pattern key_path key_file keyfile KEY_FILE ssl_key_path keystore_path keystore
  keystoreType key_schema key_columns public_key publicKey PUBLIC_KEY ssh_public_key
  publishable_key STRIPE_PUBLISHABLE_KEY NEXT_PUBLIC_SITE_KEY site_key siteKey anon_key
  primary_key primaryKey foreign_key foreignKey partition_key partitionKey sort_key sortKey
  row_key rowKey cache_key cacheKey routing_key routingKey object_key objectKey s3_key s3Key
  hash_key hashKeyName range_key shard_key group_key groupKey message_key messageKey dedup_key
  idempotency_key idempotencyKey Idempotency-Key translation_key i18n_key issue_key issueKey
  project_key projectKey lookup_key unique_key index_key registry_key registryKey feature_key
  flag_key config_key metric_key map_key lock_key redis_key job_key sonar.projectKey kms_key
  kms_key_id kmsKeyId KMSKeyArn kms_key_arn api_key_id apiKeyId api_key_name access_key_id_hash_id
  signing_key_id signingKeyId encryption_key_id encryptionKeyId master_key_id key_fingerprint
  ssh_key_fingerprint Sec-WebSocket-Key sec-websocket-key monkey turkey hockey whiskey keynote
  auth_method authMethod auth_type authType auth_mode auth_provider authProvider auth_enabled
  auth_url authUrl auth_failures auth_time authTime auth_status auth_server auth_realm auth_domain
  auth_backend auth_required author authors authored_by authority authorities authorization_url
  authorization_endpoint authorization_status authorized authorized_keys authorizer
  authorizationType requires_authorization payment_authorization authenticated authentication_type
  authenticationMethod authenticator author_id author_name oauth_provider oauth_scopes
  oauthEnabled cookie_policy cookiePolicy cookie_name cookieName cookie_domain cookieDomain
  cookie_path cookie_secure cookie_consent cookieConsent cookie_max_age cookie_count
  cookies_enabled cookiesEnabled accept_cookies has_cookies block_cookies third_party_cookies
  cookie_banner session_cookie_name SESSION_COOKIE_SECURE SESSION_COOKIE_AGE CSRF_COOKIE_NAME
  cookiecutter csrf_enabled csrfEnabled csrf_protection csrf_header_name CSRF_TRUSTED_ORIGINS
  xsrf_cookie_name session_count sessionCount session_duration sessionDuration session_timeout
  sessionTimeout session_state session_start session_type session_name sessions sessions_active
  session_length credential_id credentialId credential_type credentialType credentials_file
  credentialsPath credential_provider credentialsProvider credentialSource credential_expiry
  allow_credentials Access-Control-Allow-Credentials withCredentials useDefaultCredentials
  credentialed pin_code pincode pinCode shipping_pin shippingPincode pinned pinned_at pin_count
  pin_number_format gpio_pin led_pin reset_pin map_pin pinning pinterest_id spinner passed
  passed_count pass_count pass_rate passRate bypass bypass_cache compass passenger passengers
  passenger_name passport_country passive passing test_pass first_pass render_pass boarding_pass
  multi_pass passthrough pass_through surpass trespass sid_count account_sid AccountSid MessageSid
  CallSid ORACLE_SID side sidecar inside residual user_sid TargetUserSid otp_enabled otpEnabled
  otp_length otp_expiry otp_sent_at erlang_otp otp_required optional jwt_issuer jwtIssuer
  jwt_audience jwt_algorithm jwt_expiration jwks_uri jwksUri jwt_enabled bearer_format
  bearerFormat bearer_methods_supported token_bearer_type cvv_check cvc_check cvvResult card_type
  cardType card_brand cardBrand card_last4 cardLast4 card_count card_holder_name cardExpiry
  card_id cardId discard cardinality wildcard dashboard ssn_last4 ssn_verified ssl_enabled
  ssl_cert ssl_mode sslmode connection_count connectionId connection_timeout
  connection_string_name conn_max_lifetime grant_type response_type code_challenge
  code_challenge_method client_id clientId tenant_id scope nonce state issuer audience
  signature_version signature_algorithm salt_length hash_algorithm OLDPWD HOME PATH HOSTNAME SHELL`)
