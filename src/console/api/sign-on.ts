const PATH = new URL('../api/v1/admin/auth/oidc/', document.baseURI)

/** Where a provider sends the browser back to. */
export const CALLBACK_URL = new URL('callback', PATH).href

/** Whether a tenant of the service has a provider. */
export const isSignOnOffered = document.documentElement.dataset['signOn'] !== 'none'

/** Where a sign-on at the provider of a tenant begins. */
export const startUrl = (tenant: string): string => new URL(`start?tenant=${encodeURIComponent(tenant)}`, PATH).href
