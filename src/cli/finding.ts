/**
 * The finding on one part of a deployment, with the remedy for anything but `ok`. Contains no
 * secrets.
 */
export interface Finding {
  level: 'ok' | 'warn' | 'fail'
  part: string
  text: string
}

const finding =
  (level: Finding['level']) =>
  (part: string, text: string): Finding => ({ level, part, text })
export const ok = finding('ok')
export const warn = finding('warn')
export const fail = finding('fail')

/** The code of an error, or its first line, without anything like an address with a password. */
export function reasonOf(error: unknown): string {
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error
  const { code, message } = inner as { code?: unknown; message?: unknown }
  if (typeof code === 'string') return code
  return (String(message).split('\n')[0] ?? '').replace(/\b\w+:\/\/\S+/g, '…')
}
