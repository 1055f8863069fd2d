import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { resolve } from 'node:path'
import { tryTo } from '../lib/errors.ts'

// Parsers of settings: each returns the value, or undefined for invalid text.

export function list(text: string, isValid: (part: string) => boolean): string[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  return parts.every(isValid) ? parts : undefined
}

export const NO_SPACES = /^[\x21-\x7e]+$/

export function hasNoSpaces(text: string): boolean {
  return NO_SPACES.test(text)
}

/** All addresses of this machine: `::` also accepts IPv4, but some machines have no IPv6. */
export function anyAddress(): '::' | '0.0.0.0' {
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0'
}

/** A host name that can have a certificate: with a dot, not an IP address. */
export function isHostName(text: string): boolean {
  return /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(text)
}

/** An address, a host name, or a socket such as `unix:/run/homeport/homeport.sock`, whose path has at most 107 bytes. */
export function host(text: string): string | undefined {
  if (/^unix:\/[\x21-\x7e]{1,90}$/.test(text)) return text
  return isIP(text) || /^[\w.-]{1,253}$/.test(text) ? text : undefined
}

export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const maxBits = isIP(address) === 6 ? 128 : 32
  return (
    isIP(address) > 0 &&
    rest.length === 0 &&
    (bits === undefined || wholeNumber(bits, maxBits) !== undefined)
  )
}

/** A deep link with any scheme, such as `myapp://` or `https://app.example.com`. Adds a missing trailing `auth`. */
export function appLink(text: string): string | undefined {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)([^\s?#]*)$/i.exec(text) ?? []
  if (scheme === undefined) return undefined
  const path = rest.replace(/\/+$/, '')
  if (/(^|\/)auth$/.test(path)) return scheme + path
  return `${scheme}${path}${path === '' ? '' : '/'}auth`
}

export function parseChoice<const T extends string>(
  choices: readonly T[],
  text: string,
): T | undefined {
  return choices.find((choice) => choice === text)
}

export function wholeNumber(text: string, max: number): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return value <= max ? value : undefined
}

export function schedule(text: string): string | undefined {
  return tryTo(() => Bun.cron.parse(text)) ? text : undefined
}

export function origin(text: string): string | undefined {
  const url = URL.parse(text)
  const isHttp = url !== null && /^https?:$/.test(url.protocol)
  const isPlain = isHttp && url.pathname === '/' && !url.hostname.includes('*')
  return isPlain && url.username === '' && url.search === '' && url.hash === ''
    ? url.origin
    : undefined
}

/** An origin as browsers and web views send it, such as `https://app.example.com` or `capacitor://localhost`. */
export function isClientOrigin(text: string): boolean {
  return origin(text) === text || /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[\w.-]+(:\d+)?$/.test(text)
}

/** The origin of a host served over https at a port. */
export function httpsOrigin(host: string, port: number): string {
  return port === 443 ? `https://${host}` : `https://${host}:${port}`
}

/** External services need https; plain http is only accepted on this machine, for tests and proxies. */
export function externalUrl(text: string): string | undefined {
  const url = URL.parse(text)
  return url && isSecureInTransit(url) ? url.href : undefined
}

/** Like `externalUrl`, but without a slash at the end, because paths are appended. */
export function baseUrl(text: string): string | undefined {
  return externalUrl(text)?.replace(/\/+$/, '')
}

/** Whether traffic to a URL is encrypted or stays on this machine. */
export function isSecureInTransit({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

export function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|localhost)$/i.test(hostname)
}

/** An `@` after the host means that a password was not percent-encoded, and its beginning was parsed as the host. */
export function mailUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^smtps?:$/.test(url.protocol)) return undefined
  return /@/.test(url.pathname + url.hash) ? undefined : text
}

export const POSTGRES_URL =
  'postgres://user:password@host:5432/name?sslmode=verify-full, or with another sslmode: verify-ca, require, prefer, disable'

export function postgresUrl(text: string): string | undefined {
  const url = URL.parse(text)
  const mode = url?.searchParams.get('sslmode') ?? 'prefer'
  const isMode = /^(disable|allow|prefer|required?|verify[-_](ca|full))$/.test(mode)
  return isMode && /^postgres(ql)?:$/.test(url?.protocol ?? '') ? text : undefined
}

/** An absolute path, or what `s3Url` parses; no other URL. */
export function folderOrS3Url(text: string) {
  if (/^s3:/i.test(text)) return s3Url(text)
  return text.includes('://') ? undefined : resolve(text)
}

/** Parses `s3://bucket/prefix?endpoint=https://…&region=…`. */
export function s3Url(text: string) {
  const url = URL.parse(text)
  if (url?.protocol !== 's3:' || url.hostname === '' || url.username !== '') return undefined
  const region = url.searchParams.get('region') ?? 'us-east-1'
  const endpoint = url.searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`
  const prefix = url.pathname.replaceAll(/^\/+|\/+$/g, '')
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) return undefined
  return { bucket: url.hostname, prefix, endpoint, region }
}
