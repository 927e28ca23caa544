export const articles = [
  {
    id: 'night-trains',
    title: 'The night train is back',
    author: { name: 'Eva Lund' },
    datePublished: '2026-11-20T06:00:00Z',
    text: 'At 21:47 the platform is quiet, and then it is not.',
  },
]
