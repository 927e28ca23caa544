// answers.mjs <url> <default port>: ends with 0 where something takes connections at the host and
// port of the URL.
import { connect } from 'node:net'

const [url, defaultPort] = process.argv.slice(2)
const { hostname, port } = new URL(url.split(',')[0])
const socket = connect(Number(port || defaultPort), hostname)
socket.setTimeout(3000, () => process.exit(1))
socket.on('error', () => process.exit(1)).on('connect', () => process.exit(0))
