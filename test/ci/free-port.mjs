// free-port.mjs: prints a port on which nothing listens.
import { createServer } from 'node:net'

const server = createServer().listen(0, '127.0.0.1', () => {
  console.log(server.address().port)
  server.close()
})
