/**
 * Names of secrets by where they are found: headers, properties, settings of applications, of cloud
 * SDKs, CI and clusters. From manuals, example configurations and the sources of known software;
 * labels and choice are ours. Each holds something that opens, signs or encrypts.
 */
function words(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

/** Request and response headers. */
export const HEADERS = words(`
  Proxy-Authorization X-Authorization X-Forwarded-Authorization X-Original-Authorization
  CF-AIG-Authorization X-Serverless-Authorization X-Mashape-Authorization X-Emby-Authorization
  X-Access-Token X-Session-Token X-Refresh-Token X-Id-Token X-Service-Token X-Subject-Token
  X-CSRFToken X-XSRF-Token CSRF-Token X-Aws-Ec2-Metadata-Token X-Consul-Token X-Nomad-Token
  X-Gitlab-Token Job-Token Deploy-Token X-Figma-Token X-Shopify-Access-Token
  X-Shopify-Storefront-Access-Token Ocp-Apim-Subscription-Key X-Functions-Key X-Apikey
  X-Goog-Api-Key X-Goog-Iam-Authorization-Token X-Goog-Iap-Jwt-Assertion Cf-Access-Jwt-Assertion
  CF-Access-Client-Secret Cf-Access-Token X-Ms-Token-Aad-Access-Token X-Ms-Token-Aad-Id-Token
  X-Ms-Token-Aad-Refresh-Token X-ZUMO-AUTH X-RapidAPI-Key X-Mashape-Key X-Algolia-API-Key
  X-Parse-REST-API-Key X-Parse-Master-Key X-Parse-Session-Token X-TYPESENSE-API-KEY
  X-Meili-API-Key DD-API-KEY DD-APPLICATION-KEY X-Honeycomb-Team X-Insert-Key X-Query-Key
  X-License-Key X-SF-Token Lightstep-Access-Token X-Circonus-Auth-Token X-Postmark-Server-Token
  X-Postmark-Account-Token xi-api-key X-Subscription-Token X-Goog-Encryption-Key
  X-Amz-Server-Side-Encryption-Customer-Key X-Ms-Encryption-Key X-Oss-Security-Token
  X-Cos-Security-Token X-Obs-Security-Token X-Acs-Security-Token X-Auth-Key
  X-Auth-User-Service-Key X-Storage-Token X-Container-Meta-Temp-URL-Key
  X-Account-Meta-Temp-URL-Key Jenkins-Crumb X-JFrog-Art-Api X-NuGet-ApiKey X-Octopus-ApiKey
  X-Redmine-API-Key X-Gerrit-Auth X-Hasura-Admin-Secret X-Hasura-Access-Key X-Appwrite-Key
  X-Appwrite-JWT X-N8N-API-KEY X-Metabase-Session X-Tableau-Auth X-Cisco-Meraki-API-Key X-PAN-KEY
  X-chkp-sid X-F5-Auth-Token X-Plex-Token X-Emby-Token X-MediaBrowser-Token
  X-Transmission-Session-Id X-Telegram-Bot-Api-Secret-Token X-Viber-Auth-Token
  X-Auth-Request-Access-Token X-Forwarded-Access-Token Cookie2 Set-Cookie2 X-Webhook-Secret
  X-Client-Secret X-Admin-Password X-User-Password X-Backend-Auth X-Internal-Auth
  X-Application-Key X-App-Token X-Device-Token X-Push-Token X-Worker-Secret X-Shared-Secret
  X-Signing-Key X-Otp X-Otp-Code X-Mfa-Code X-Two-Factor-Code X-Totp X-Sudo-Password
  Sec-Token-Binding DPoP X-Firebase-AppCheck Firebase-Instance-Id-Token X-Recaptcha-Token
  X-Turnstile-Token Impersonation-Token Grpc-Metadata-Authorization X-Amz-Cognito-Access-Token
  X-Amzn-Oidc-Data X-Amzn-Oidc-Accesstoken X-Okta-User-Token Braintree-Api-Key Stripe-Api-Key
  Paypal-Auth-Assertion X-PAYPAL-SECURITY-USERID-PASSWORD X-Ebay-Api-IAF-Token
  X-Ebay-Soa-Security-Token X-Walmart-Sec-Access-Token WM_SEC.ACCESS_TOKEN X-Kc-Api-Passphrase
  OK-ACCESS-KEY OK-ACCESS-PASSPHRASE CB-ACCESS-PASSPHRASE X-MBX-APIKEY X-CMC_PRO_API_KEY
  X-BAPI-API-KEY APCA-API-SECRET-KEY X-Riot-Token X-TBA-Auth-Key Trakt-Api-Key X-Tmdb-Api-Key
  X-Finnhub-Secret X-Rollbar-Access-Token X-Bugsnag-Api X-Airbrake-Token X-Sentry-Token
  X-Splunk-Token X-Logdna-Token X-Dynatrace-Token X-Elastic-App-Auth X-Cassandra-Token
  X-Ambari-Password X-DreamFactory-Api-Key X-DreamFactory-Session-Token
`)

/** Properties with dots, of Java and of what is configured like it. */
export const PROPERTIES = words(`
  server.ssl.trust-store-password server.ssl.key-password spring.security.user.password
  spring.cloud.config.password spring.cloud.config.token spring.cloud.vault.app-role.secret-id
  spring.cloud.vault.ssl.key-store-password spring.cloud.consul.config.acl-token
  spring.cloud.consul.token spring.kafka.ssl.key-password spring.kafka.ssl.key-store-password
  spring.kafka.properties.sasl.jaas.config spring.elasticsearch.password
  spring.neo4j.authentication.password
  spring.r2dbc.password spring.liquibase.password spring.flyway.password spring.artemis.password
  spring.activemq.password spring.pulsar.client.authentication.param.token
  spring.data.redis.password
  spring.datasource.hikari.password spring.h2.console.settings.web-admin-password
  spring.session.redis.password spring.ai.openai.api-key spring.boot.admin.client.password
  encrypt.key encrypt.key-store.secret encrypt.key-store.password encrypt.salt
  management.newrelic.metrics.export.api-key management.wavefront.api-token
  management.dynatrace.metrics.export.api-token management.influx.metrics.export.token
  management.humio.metrics.export.api-token management.stackdriver.credentials.encoded-key
  spring.cloud.gcp.credentials.encoded-key spring.cloud.azure.credential.client-secret
  spring.cloud.azure.credential.client-certificate-password
  spring.cloud.azure.eventhubs.connection-string
  spring.cloud.azure.storage.blob.account-key spring.cloud.azure.storage.blob.sas-token
  spring.cloud.azure.servicebus.connection-string azure.cosmos.key azure.keyvault.client-key
  cloud.aws.credentials.secret-key cloud.aws.credentials.secretKey quarkus.datasource.password
  quarkus.oidc.credentials.secret quarkus.oidc.credentials.client-secret.value
  quarkus.oidc.credentials.jwt.secret quarkus.http.auth.session.encryption-key
  quarkus.http.ssl.certificate.key-store-password quarkus.vault.authentication.client-token
  quarkus.vault.authentication.app-role.secret-id quarkus.mailer.password quarkus.redis.password
  quarkus.elasticsearch.password quarkus.s3.aws.credentials.static-provider.secret-access-key
  quarkus.mongodb.credentials.password quarkus.rest-csrf.token-signature-key
  micronaut.security.token.jwt.signatures.secret.generator.secret micronaut.ssl.key-store.password
  micronaut.security.oauth2.clients.okta.client-secret play.http.secret.key
  play.crypto.secret akka.remote.secure-cookie ssl.keystore.key sasl.password
  ssl.truststore.certificates.password listener.name.internal.ssl.key.password
  listener.name.client.plain.sasl.jaas.config delegation.token.master.key
  delegation.token.secret.key password.encoder.secret password.encoder.old.secret
  confluent.license basic.auth.user.info schema.registry.basic.auth.user.info
  connection.password database.password consumer.sasl.jaas.config producer.ssl.keystore.password
  aws.secret.access.key hive.s3.aws-secret-key fs.s3a.secret.key fs.s3a.session.token
  fs.s3a.server-side-encryption.key fs.azure.account.key fs.azure.account.oauth2.client.secret
  fs.azure.sas.token fs.gs.auth.service.account.private.key fs.adl.oauth2.credential
  hadoop.security.group.mapping.ldap.bind.password javax.jdo.option.ConnectionPassword
  ssl.server.keystore.password ssl.server.keystore.keypassword hive.server2.keystore.password
  http-server.https.keystore.key internal-communication.shared-secret
  http-server.authentication.oauth2.client-secret http-server.authentication.password
  spark.ssl.keyPassword spark.authenticate.secret spark.ui.acls.token spark.yarn.access.token
  spark.hadoop.fs.s3a.secret.key flink.security.ssl.internal.key-password
  security.ssl.rest.keystore-password zookeeper.ssl.keyStore.password zookeeper.superDigest
  xpack.security.transport.ssl.secure_key_passphrase
  xpack.security.http.ssl.keystore.secure_password
  xpack.security.authc.realms.ldap.ldap1.secure_bind_password
  xpack.security.authc.realms.oidc.oidc1.rp.client_secret xpack.watcher.encryption_key
  xpack.notification.email.account.work.smtp.secure_password
  xpack.notification.slack.account.monitoring.secure_url
  xpack.notification.jira.account.x.secure_password
  s3.client.default.secret_key s3.client.default.session_token azure.client.default.sas_token
  azure.client.default.key gcs.client.default.credentials_file_contents
  reindex.ssl.secure_key_passphrase
  keystore.seed bootstrap.password xpack.encryptedSavedObjects.encryptionKey
  xpack.reporting.encryptionKey
  xpack.security.encryptionKey elasticsearch.serviceAccountToken elasticsearch.password
  server.ssl.keyPassphrase monitoring.ui.elasticsearch.password cloud.auth
  output.elasticsearch.api_key output.logstash.ssl.key_passphrase setup.kibana.password
  apm-server.auth.secret_token apm-server.auth.api_key.elasticsearch.password
  opensearch_security.cookie.password opensearch_security.openid.client_secret
  plugins.security.ssl.transport.keystore_password plugins.alerting.destination.slack.url.token
  jenkins.model.secret hudson.util.Secret.value credentials.password github.oauth.secret
  sonar.token sonar.jdbc.password sonar.auth.jwtBase64Hs256Secret
  sonar.auth.github.clientSecret.secured ldap.bindPassword
  systemProp.http.proxyPassword systemProp.https.proxyPassword signing.password
  signing.secretKey signing.gnupg.passphrase ossrhPassword mavenCentralPassword gpr.key
  gradle.publish.secret nexus.password artifactory.password artifactoryApiKey
  storePassword keyPassword RELEASE_STORE_PASSWORD MYAPP_UPLOAD_KEY_PASSWORD
  jdbc.password hibernate.hikari.password c3p0.password dataSource.password
  log4j2.trustStorePassword com.sun.jndi.ldap.credentials java.naming.security.credentials
  javax.net.ssl.keyStorePass http.proxyPass mail.smtp.password mail.password
  ldap.java.naming.security.credentials liferay.portal.auth.pass sso.cookie.key
  grails.plugin.springsecurity.rememberMe.key security.rememberMe.key
  jhipster.security.authentication.jwt.base64-secret
  jhipster.security.remember-me.key jhipster.registry.password eureka.client.password
  keycloak.credentials.secret kc.db.password kc.https.key-store-password kc.spi.vault.pass
  db.default.password slick.dbs.default.db.password ebean.datasource.password
  nacos.core.auth.server.identity.value nacos.core.auth.plugin.nacos.token.secret.key
  dubbo.registry.password rocketmq.client.secretKey seata.registry.nacos.password
  xxl.job.accessToken druid.stat.loginPassword spring.datasource.druid.password
  spring.datasource.druid.stat-view-servlet.login-password shiro.rememberMe.cipherKey
  jasypt.encryptor.privateKeyString oss.accessKeySecret aliyun.sms.secret wechat.mchKey
  wx.pay.apiV3Key alipay.privateKey
`)
