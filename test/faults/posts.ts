/** What fault runs write to: everybody may do everything. */
export const posts = {
  name: 'posts',
  type: 'base',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'body', type: 'text' },
  ],
  listRule: '',
  viewRule: '',
  createRule: '',
  updateRule: '',
  deleteRule: '',
};
