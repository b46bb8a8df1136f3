/** Whole events of ordinary services that speak of secrets all over and hold none. */
const UUID = '7c1f7a54-98d4-4a0e-9a53-0d5ce4f2b9aa'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

const CLUSTER: readonly object[] = [
  {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    verb: 'get',
    requestURI: '/api/v1/namespaces/orders/secrets/orders-db',
    user: { username: 'system:serviceaccount:orders:default', groups: ['system:authenticated'] },
    objectRef: { resource: 'secrets', namespace: 'orders', name: 'orders-db' },
    responseStatus: { code: 200 },
    annotations: {
      'authorization.k8s.io/decision': 'allow',
      'authorization.k8s.io/reason': 'RBAC: allowed by RoleBinding "read-secrets/orders"',
    },
  },
  {
    reason: 'FailedMount',
    message: 'MountVolume.SetUp failed for volume "tls" : secret "tls-wildcard" not found',
    involvedObject: { kind: 'Pod', name: 'orders-7d9c5b6f8-x2v4q' },
  },
  {
    spec: {
      serviceAccountName: 'orders',
      automountServiceAccountToken: false,
      imagePullSecrets: [{ name: 'regcred' }],
      containers: [
        {
          env: [
            { name: 'DB_PASSWORD', valueFrom: { secretKeyRef: { name: 'orders-db', key: 'pw' } } },
            { name: 'TOKEN_TTL', value: '3600' },
            { name: 'AUTH_MODE', value: 'oidc' },
          ],
          args: ['--token-ttl', '3600', '--password-file', '/run/secrets/pg', '--no-auth'],
        },
      ],
    },
  },
  {
    Config: {
      Env: ['LANG=C', 'POSTGRES_PASSWORD_FILE=/run/secrets/pg', 'TOKEN_TTL=3600'],
      Labels: { 'com.acme.keyring': 'orders' },
    },
  },
  { body: '{"level":"info","token_count":812,"model":"m-1","keys":["a","b"]}\n', kind: 'log' },
]

const CLOUD: readonly object[] = [
  {
    eventName: 'ConsoleLogin',
    userIdentity: { type: 'IAMUser', userName: 'jo', sessionContext: { attributes: {} } },
    additionalEventData: { MFAUsed: 'Yes', LoginTo: 'https://console.aws.amazon.com/' },
    responseElements: { ConsoleLogin: 'Success' },
    eventID: UUID,
  },
  {
    eventName: 'GetSecretValue',
    requestParameters: { secretId: 'orders/db', versionStage: 'AWSCURRENT' },
    responseElements: null,
    resources: [{ ARN: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:orders/db-AbCdEf' }],
  },
  {
    eventName: 'UpdateLoginProfile',
    requestParameters: { userName: 'jo', passwordResetRequired: true },
  },
  {
    eventName: 'ListObjectsV2',
    requestParameters: { bucketName: 'acme', 'max-keys': '1000', 'continuation-token': 'p-2' },
    additionalEventData: { SignatureVersion: 'SigV4', AuthenticationMethod: 'AuthHeader' },
  },
  {
    protoPayload: {
      methodName: 'google.iam.admin.v1.CreateServiceAccountKey',
      authenticationInfo: { principalEmail: 'jo@acme.example' },
      authorizationInfo: [{ permission: 'iam.serviceAccountKeys.create', granted: true }],
      request: { private_key_type: 'TYPE_GOOGLE_CREDENTIALS_FILE', key_algorithm: 'RSA_2048' },
    },
  },
  {
    operationName: 'Microsoft.KeyVault/vaults/secrets/read',
    properties: {
      clientInfo: 'azsdk-net',
      requestUri: 'https://kv.acme/secrets/db?api-version=7.4',
    },
    identity: { claims: { appid: UUID, idtyp: 'app' } },
  },
]

const SERVICES: readonly object[] = [
  {
    msg: 'completion',
    model: 'm-1',
    usage: { prompt_tokens: 812, completion_tokens: 196, total_tokens: 1008, cached_tokens: 0 },
    stop: ['</s>'],
    max_tokens: 1024,
    trace_id: TRACE,
  },
  {
    message: 'response {"usage":{"input_tokens":12,"output_tokens":34},"stop_reason":"end_turn"}',
  },
  {
    event: 'user.login',
    auth_method: 'password',
    password_expired: false,
    otp_enabled: true,
    session_duration_ms: 840112,
    ip: '203.0.113.9',
  },
  {
    msg: 'token refreshed',
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'read write',
    kid: 'sig-2024-09',
  },
  {
    msg: 'jwks fetched',
    url: 'https://login.acme.example/.well-known/jwks.json',
    keys: [{ kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'sig-2024-09', e: 'AQAB' }],
  },
  {
    payment: { card_brand: 'visa', card_last4: '4242', cvc_check: 'pass', amount: 1999 },
    idempotency_key: UUID,
    status: 'succeeded',
  },
  {
    req: {
      method: 'GET',
      url: '/v1/orders?page_token=3&sort_key=created_at',
      headers: { host: 'api', accept: '*/*', 'x-request-id': UUID, 'idempotency-key': UUID },
    },
    res: { statusCode: 200, headers: { etag: `"${TRACE}"`, vary: 'Cookie, Authorization' } },
  },
  {
    logger: 'org.apache.kafka.clients.producer.ProducerConfig',
    message:
      'sasl.jaas.config = [hidden]\n\tssl.key.password = null\n\tssl.keystore.password = null',
  },
  { message: 'password = null\n\ttoken = none\n\tsecret = (hidden)' },
  { message: 'Authorization: Bearer ******\nHost: api.acme.example' },
  { log: '+ docker login -u ci --password-stdin images.acme.example' },
  { log: '+ curl -H "Authorization: Bearer ****" https://api.acme.example' },
  { message: 'mask: 4242 **** **** 4242, cvv ***' },
  {
    message: `GET /v1/orders/${UUID} 200 4ms`,
    span_id: '00f067aa0ba902b7',
    trace_id: TRACE,
    request_id: 'a3f1c2d4e5b60718',
  },
  {
    winlog: {
      event_id: 4624,
      event_data: {
        SubjectUserSid: 'S-1-5-18',
        TargetUserSid: 'S-1-5-21-3623811015-3361044348-30300820-1013',
        AuthenticationPackageName: 'Kerberos',
        KeyLength: '0',
      },
    },
  },
  {
    MESSAGE: 'pam_unix(sshd:session): session opened for user deploy(uid=1000) by (uid=0)',
    _COMM: 'sshd',
    SYSLOG_FACILITY: '10',
    _BOOT_ID: TRACE,
  },
  {
    cmd: 'git commit -m "Ask for the password twice; token count in the header"',
    cwd: '/srv/orders',
  },
  { message: 'UPDATE users SET password_digest = $1, updated_at = $2 WHERE users.id = $3' },
  {
    message: 'slow query: SELECT key, value FROM settings WHERE key = $1',
    keys_examined: 18,
    duration_ms: 120,
  },
  { device: 'dev-7', topic: 'sensors/7/temp', gpio_pin: 17, pin_state: 'HIGH', value: 21.4 },
  {
    message: 'build finished',
    image: `acme/orders@sha256:${TRACE}${TRACE}`,
    commit: '9f2c4e1a7b3d5068c1e2f4a6b8d0c3e5f7a9b1d2',
  },
  { type: 'mail', auth: true, authenticated: true, dkim: 'pass', spf: 'pass', dmarc: 'pass' },
]

export const ORDINARY_EVENTS: readonly object[] = [...CLUSTER, ...CLOUD, ...SERVICES]
