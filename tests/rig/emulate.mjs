// GitHub's API on loopback. Each line on stdin is {"seed": ..., "base": ...} and starts it anew, empty but for the
// seed; the line that answers is its address. It ends with its stdin. The package's own command needs a newer Node.
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { createEmulator } from 'emulate'

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

let running
for await (const line of createInterface({ input: process.stdin })) {
  const { seed, base } = JSON.parse(line)
  await running?.close()
  const port = await freePort()
  running = await createEmulator({ service: 'github', hostname: '127.0.0.1', port, seed, baseUrl: base })
  console.log(`http://127.0.0.1:${port}`)
}
process.exit(0)
