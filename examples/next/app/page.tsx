import { guestClient, type Post } from '../lib/chancery';

// The page is made once and kept. The webhook in hook/route.ts has it made again when a post has changed.
export const dynamic = 'force-static';

export default async function Page() {
  const { items } = await guestClient().collection<Post>('posts').getList(1, 50, { sort: '-created' });
  return (
    <>
      <h1>Posts</h1>
      <ul>
        {items.map(({ id, title }) => (
          <li key={id}>{title}</li>
        ))}
      </ul>
      <a href="/write">Write</a>
    </>
  );
}
