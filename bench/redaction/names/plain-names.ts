/**
 * Names that hold a word of a secret and no secret, from the same sources as the names of secrets,
 * by the kind of value that stands in them.
 */
function words(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

const COUNTS = words(`
  token_rotation_interval_minutes api_key_max_seconds_to_live ACCESS_TOKEN_EXPIRE_MINUTES
  REFRESH_TOKEN_EXPIRE_DAYS REFRESH_TOKEN_EXPIRY RESET_PASSWORD_TOKEN_EXPIRY_MINUTES
  PROMPT_GENERATION_MAX_TOKENS CODE_GENERATION_MAX_TOKENS INDEXING_MAX_SEGMENTATION_TOKENS_LENGTH
  OPENAI_MAX_TOKENS maxOutputTokens max_completion_tokens cachedContentTokenCount num_tokens
  tokens_per_second tokensPerMinute prompt_eval_tokens total_token_count billed_tokens
  accepted_prediction_tokens audio_tokens X-RateLimit-Remaining-Tokens
  anthropic-ratelimit-tokens-limit x-ratelimit-limit-tokens JWT_EXPIRY JWT_EXPIRES_IN
  SESSION_TTL session_count active_sessions SESSION_LIFETIME cookie_max_age COOKIE_LIFETIME
  password_length PASSWORD_MIN_LENGTH password_history_count passwordExpiryDays password_attempts
  failed_password_attempts login_attempts otp_length SMS_OTP_EXP SMS_OTP_LENGTH OTP_DIGITS
  otp_timeout_seconds pin_length key_count key_length keySize key_size_bits KEY_ROTATION_DAYS
  primary_key_count keys_total keyspace_hits keyspace_misses expired_keys evicted_keys
  redis_expired_keys_total secret_count secrets_total secret_version SECRET_ROTATION_DAYS
  credential_count auth_attempts auth_failures authFailureCount auth_timeout_ms
  AUTHENTICATION_TIMEOUT mfa_grace_period_seconds passphrase_length api_key_count global_api_key
  org_api_key quota_api_keys token_bucket_size tokenBucketCapacity bucket_tokens available_tokens
  vocab_tokens special_tokens_count eos_token_id pad_token_id bos_token_id unk_token_id
  decoder_start_token_id image_token_index image_token_id max_new_tokens min_tokens stop_token_ids
  n_ctx_tokens usage.total_tokens llm.usage.prompt_tokens gen_ai.usage.input_tokens
  gen_ai.usage.output_tokens llm.token_count.completion cookie_count set_cookie_count
  cert_expiry_days signature_count X-Token-Expires key_version kms_key_version hot_key_count
  keyspaces partition_key_range_id foreign_key_checks FOREIGN_KEY_CHECKS session_cache_size
  ssl_session_timeout tls_session_tickets tls.session_cache_size credit_card_count card_count
`)

const FLAGS = words(`
  auth_enabled AUTH_REQUIRED AUTHENTICATION_ENABLED ENABLE_AUTH disableAuth enable_login_token
  sigv4_auth_enabled azure_auth_enabled GITHUB_AUTH_ENABLED cookie_secure COOKIE_HTTPONLY
  SESSION_COOKIE_SECURE CSRF_COOKIE_SECURE session_cookie_httponly csrf_enabled CSRF_PROTECTION
  csrf_cookie_httponly password_protected passwordProtected password_required
  PASSWORD_RESET_DISABLED isPasswordSet hasPassword has_token token_valid isTokenExpired
  token_revoked key_exists keyPresent api_key_required ALLOW_EMPTY_PASSWORD
  MYSQL_ALLOW_EMPTY_PASSWORD
  MYSQL_RANDOM_ROOT_PASSWORD MARIADB_ALLOW_EMPTY_ROOT_PASSWORD FUNCTIONS_VERIFY_JWT verify_jwt
  VERIFY_TOKEN_SIGNATURE REQUIRE_MFA mfa_enabled MFA_TOTP_ENROLL_ENABLED otp_enabled otp_verified
  twoFactorEnabled TOTP_ENABLED use_api_key USE_TOKEN save_password rememberPassword show_password
  store_credentials ALLOW_CREDENTIALS access-control-allow-credentials allowCredentials
  withCredentials cors_allow_credentials persist-credentials must_change_password
  force_password_change password_expired is_secret isSecret sensitive secret_exists
  enable_secrets_manager ignore_ssl_key private_key_encrypted encrypt_keys permit_tun_key
  PermitEmptyPasswords PasswordAuthentication PubkeyAuthentication KbdInteractiveAuthentication
  ChallengeResponseAuthentication require_auth anonymous_auth basic_auth_enabled use_auth
  weaviate_authentication_apikey_enabled WEAVIATE_AUTHENTICATION_APIKEY_ENABLED auto_sign_cookie
  cookies_enabled cookie_consent hasCookies third_party_cookies session_active keep_session
  enforce_session_expiry is_authenticated authenticated authorized auth.anonymous.enabled
  spring.security.oauth2.enabled management.security.enabled quarkus.oidc.enabled
  xpack.security.authc.token.enabled xpack.security.authc.api_key.enabled
  automountServiceAccountToken PLUGIN_BASED_TOKEN_COUNTING_ENABLED GF_AUTH_BASIC_ENABLED
  tokenizer_parallelism skip_special_tokens add_bos_token add_eos_token
  clean_up_tokenization_spaces
`)

/** What says which one it is. */
const IDS = words(`
  AWS_KMS_KEY_ID kms_key_id KMSKeyId kmsKeyArn sse_kms_key_id
  X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id
  AWS_CLOUDFRONT_KEY_PAIR_ID key_id keyId signing_key_id encryption_key_id secret_id secretId
  secret_arn SecretARN client_id GITHUB_CLIENT_ID token_id tokenId jti api_key_id apiKeyId
  public_key_id credential_id credentialId account_sid TWILIO_ACCOUNT_SID TWILIO_MESSAGING_SID
  MessageSid CallSid service_sid conversation_sid session_ref auth_user_id authUserId
  ssh_key_id sshKeyIds license_id licenseId card_id paymentMethodId password_policy_id
  passwordPolicyId idempotency_key idempotencyKey Idempotency-Key X-Idempotency-Key
  dedup_key dedup-key deduplicationKey correlation_key correlationKey partition_key PartitionKey
  x-ms-documentdb-partitionkey sort_key sortKey RowKey shard_key shardKey hash_key range_key
  primary_key primaryKey foreign_key foreignKey unique_key uniqueKey row_key object_key objectKey
  s3_key s3.object.key S3ObjectKey bucket_key file_key fileKey cache_key cacheKey
  X-Cache-Key cache-key X-Surrogate-Key Surrogate-Key group_key groupKey alert_key incident_key
  issue_key issueKey project_key projectKey jira_issue_key record_key message_key messageKey
  event_key eventKey entity_key natural_key business_key surrogate_key composite_key join_key
  lookup_key map_key reduce_key state_key job_key jobKey task_key taskKey process_definition_key
  processDefinitionKey workflow_key feature_key featureKey flag_key flagKey experiment_key
  setting_key config_key translation_key i18n_key translationKey resource_key resourceKey
  metric_key label_key tag_key annotation_key attribute_key property_key header_key
  cookie_id visitor_token_id order_token_id XDG_SESSION_ID DESKTOP_SESSION session_name
  sessionName GDMSESSION SESSION_MANAGER pagination_key exclusive_start_key LastEvaluatedKey
  ExclusiveStartKey next_key start_key end_key startKey endKey lower_key upper_key min_key
  max_key storage_key storageKey local_storage_key query_key queryKey route_key react_key
  data_key_path data_key_id key_fingerprint keyFingerprint public_key_fingerprint
  host_key_fingerprint
  password_reset_id oauth_client_id consumer_id service_account_id principal_id subject_id
  token_address tokenAddress token_mint token_symbol token_contract nft_token_id erc20_token
`)

/** A word: a name, a kind, a state. */
const WORDS = words(`
  auth_type authType AUTH_METHOD auth_method auth_mode auth_provider AUTH_PROVIDER authProvider
  auth_scheme auth_style auth_source auth_backend auth_plugin authMechanism auth_mechanism
  authentication_method authentication_type authenticationProvider OPENSEARCH_AUTH_METHOD
  CHROMA_SERVER_AUTHN_PROVIDER credential_type credentialType credentials_provider
  credential_source credentialProvider login_cookie_name cookie_name cookieName cookie_domain
  COOKIE_DOMAIN cookie_path cookie_samesite SESSION_COOKIE_NAME CSRF_COOKIE_NAME csrf_header_name
  xsrfCookieName xsrfHeaderName token_type tokenType TOKEN_TYPE token_name token_kind token_class
  token_status token_state token_use token_format token_source token_issuer
  token_endpoint_auth_method
  token_scope token_audience token_policy token_prefix TOKEN_PREFIX API_KEY_PREFIX
  REDIS_KEY_PREFIX
  key_prefix keyPrefix key_suffix key_type keyType KEY_TYPE key_alg key_algorithm keyAlgorithm
  key_name keyName KEY_NAME key_format key_usage keyUsage extended_key_usage key_status keyState
  key_exchange key_schema key_pattern key_separator key_serializer key.serializer key.deserializer
  key.converter key_encoding KEY_MAP keymap keyboard keyboard_layout keystore_type keyStoreType
  key-store-type ssl.keystore.type ssl.truststore.type keyAlias key_alias server.ssl.key-alias
  keystore_alias password_hint passwordHint password_policy password_strength password_status
  password_encryption password_algorithm password_hasher password_field password_label
  passwordInputType id_token_attribute_name secret_name secretName SECRET_NAME imagePullSecretName
  secretKeyName existingSecret existingSecretPasswordKey secretRef secretKeyRef secret_ref
  secret_type secret_engine secret_backend secret_store secretStoreRef secretManager
  secretsProvider encryption_provider available_encryption_providers vault_secret_key_name
  tls_secret_name tlsSecretName apikey_header api_key_header_name api_key_name apiKeyLocation
  API_KEY_HEADER jwt_header jwt_algorithm JWT_ALGORITHM jwtIssuer jwt_issuer jwt_audience
  JWT_AUDIENCE jwt_claim username_claim session_state sessionState session_status session_type
  session_driver SESSION_DRIVER SESSION_ENGINE session_store sessionStorage session_mode
  x-session-affinity sessionAffinity otp_type otp_channel otp_method otp_status mfa_method
  mfa_type pin_mode pin_name gpio_pin led_pin reset_pin interrupt_pin chip_select_pin
  signature_algorithm signatureAlgorithm signature_version signatureVersion signature_status
  signing_algorithm license_type license_name licenseType license_plan LICENSE_EDITION
  card_brand card_type card_network card_status cardholder_type credit_card_type
  tokenizer tokenizer_class TOKENIZER WEAVIATE_TOKENIZATION HOLOGRES_TOKENIZER eos_token
  bos_token pad_token unk_token sep_token cls_token mask_token stop_token start_token
  current_token unexpected_token expected_token syntax_token lexer_token last_token
  Access-Control-Allow-Headers WWW-Authenticate Proxy-Authenticate Authentication-Results
  X-Atlassian-Token X-Authenticated-User X-Auth-User X-Auth-Username X-Auth-Role
  X-Credential-Username x-amz-grant-read author author_name coauthor authority authorizer
  authorization_status authorizationType authorization_endpoint_name authorization_result
  authenticator authenticator_type authMethods keyword keywords turnkey monkey hotkey hockey
  donkey jockey passenger passage passthrough bypass compass surpass encompass pass_rate
  passed password_manager secretary secretariat tokenized tokenization cookiecutter
  cookie_policy cookie_banner cookie_category crumb_path breadcrumb bread_crumb saltwater
  salt_master salt_minion salt_state salt_env seed_node seed_nodes seedlist random_seed_name
  seed_url peppermint community community_name communityString_version claims claim_type
  license_key_name subscription_type subscription_name subscription_plan subscription_status
  patch patent path pattern patient repeat format_pat pat_name dispatcher webhook_name
  webhook_event webhook_type encryption_type encryption_mode encryption_algorithm
  cipher ciphers cipher_suite cipherSuite ssl_cipher tls_cipher_suites CIPHER_NAME
  mnemonic_code opcode_mnemonic instruction_mnemonic nonce_type master master_name master_host
  private_network private_ip_type public_key_type ssh_key_type host_key_algorithm
`)

/** Addresses and paths. */
const PLACES = words(`
  token_url TOKEN_URL token_uri OIDC_TOKEN_URI token_endpoint tokenEndpoint auth_url AUTH_URL
  OIDC_AUTH_URI auth_uri authUrl authorization_endpoint authorization_url AUTHENTICATION_URL
  api_key_url key_url jwk_set_url jwks_uri jwksUri JWKS_URL revoke_token_url refresh_token_url
  password_reset_url PASSWORD_RESET_URL forgot_password_url change_password_url credential_url
  secrets_url session_url SESSION_ENDPOINT vault_addr VAULT_ADDR login_url license_url
  cert_file cert_key_file key_file keyFile KEY_FILE key_path keyPath client_key_path
  ssl_key_file ssl_key_path SSL_KEY_PATH SSL_KEYFILE REDIS_SSL_KEYFILE private_key_path
  privateKeyPath PRIVATE_KEY_FILE ssh_key_path SSH_KEY_PATH IdentityFile identity_file
  password_file passwordFile PASSWORD_FILE POSTGRES_PASSWORD_FILE MYSQL_ROOT_PASSWORD_FILE
  SECRET_KEY_FILE secret_file secrets_path SECRETS_DIR SECRET_PATH token_file tokenFile
  TOKEN_FILE TOKEN_PATH AWS_WEB_IDENTITY_TOKEN_FILE AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
  BEARER_TOKEN_FILE bearer_token_file credentials_file CREDENTIALS_FILE credentials_path
  GOOGLE_APPLICATION_CREDENTIALS credential_file AWS_SHARED_CREDENTIALS_FILE keystore_path
  keystoreLocation ssl.keystore.location ssl.truststore.location KEYSTORE_FILE keyring_path
  license_path licenseFile SSH_AUTH_SOCK XAUTHORITY PGPASSFILE NETRC htpasswd_path
  passwd_file_path cookie_file cookieJarPath session_path SESSION_SAVE_PATH session_dir
`)

/** Times, by which they were made or expire. */
const TIMES = words(`
  token_expires_at tokenExpiresAt token_expiry access_token_expires_at tokenExpiration
  refresh_token_expires_at token_created_at token_issued_at key_created_at keyCreatedAt
  key_rotated_at key_expires_at api_key_last_used apiKeyLastUsedAt password_changed_at
  passwordChangedAt password_updated_at passwordLastSet password_reset_at password_expires
  passwordExpiresAt PasswordLastUsed secret_created_at secret_rotated_at secretLastUpdated
  session_start session_started_at sessionStart session_end session_expires sessionExpiry
  session_created_at cookie_expires cookieExpires otp_sent_at otp_expires_at otpExpiresAt
  auth_time authTime auth_at authenticated_at credential_expires_at credentials_last_used
  license_expiry license_expires_at licenseExpiration signature_date X-Amz-Date
`)

/** Hashes and parts of keys that everybody may see. */
const PUBLIC = words(`
  public_key publicKey PUBLIC_KEY ssh_public_key sshPublicKey VAPID_PUBLIC_KEY host_key_public
  jwt_public_key MP_JWT_VERIFY_PUBLICKEY authorized_public_key STRIPE_PUBLISHABLE_KEY
  publishable_key publishableKey RECAPTCHA_SITE_KEY recaptcha_site_key TURNSTILE_SITE_KEY
  HCAPTCHA_SITEKEY site_key pubkey pub_key peer_public_key wireguard_public_key
  server_public_key TIDB_PUBLIC_KEY public_key_base64 pgp_public_key gpg_public_key
  Sec-WebSocket-Key Sec-WebSocket-Accept Public-Key-Pins
  X-Amz-Server-Side-Encryption-Customer-Key-Md5
  content_hash commit_hash file_hash tree_hash hash image_digest checksum etag sha256 fingerprint
  cert_fingerprint signature_key_id certificate_serial
`)

/** By kind, with a value as it stands there. */
export const PLAIN_NAMES: readonly (readonly [names: readonly string[], value: unknown])[] = [
  [COUNTS, 4_096],
  [FLAGS, true],
  [FLAGS, 'true'],
  [IDS, 'a6f1c2d0-5b7e-4c19-9d83-2e4f60718293'],
  [IDS, 'orders/2026-11/batch-00017'],
  [WORDS, 'default'],
  [WORDS, 'acme-prod-7'],
  [PLACES, 'https://login.example.com/oauth2/token'],
  [PLACES, '/etc/acme/tls/server-01.pem'],
  [TIMES, '2026-11-26T09:14:03.512Z'],
  [TIMES, 1_795_684_443],
  [PUBLIC, '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae'],
]
