// answers.mjs <url> <default port>: exits with 0 if a server takes connections at the URL's host
// and port.
import { connect } from 'node:net'

const [url, defaultPort] = process.argv.slice(2)
const { hostname, port } = new URL(url.split(',')[0])
const socket = connect(Number(port || defaultPort), hostname)
socket.setTimeout(3000, () => process.exit(1))
socket.on('error', () => process.exit(1)).on('connect', () => process.exit(0))
