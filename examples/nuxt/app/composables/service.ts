/** Where browsers find the service. The server knows it, and tells the page. */
export const useService = () =>
  useState('service', () => (import.meta.server ? process.env.ENGAGEMENT_URL : undefined)).value
