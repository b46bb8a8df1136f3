/**
 * For the image's HEALTHCHECK: ends with 0 when the service in this container says that it lives.
 * It knows the port and TLS from the variables that the service knows them from.
 */
import { get as getPlain } from 'node:http'
import { get as getSecure } from 'node:https'

const { SLUICE_PORT, SLUICE_TLS_CERT } = process.env
const answered = ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)
// The certificate is the service's own, for a name that is not this one.
const options = {
  host: '127.0.0.1',
  port: Number(SLUICE_PORT || 4800),
  path: '/healthz',
  rejectUnauthorized: false,
}
const get = SLUICE_TLS_CERT ? getSecure : getPlain
get(options, answered).on('error', () => process.exit(1))
