import PocketBase from 'pocketbase';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

type Post = { id: string; title: string };

const pb = new PocketBase(String(import.meta.env.VITE_CHANCERY_URL));
const posts = pb.collection<Post>('posts');

function LiveList() {
  const [list, setList] = useState<Post[]>([]);
  const [error, setError] = useState('');
  const fail = (cause: unknown) => setError(String(cause));
  useEffect(() => {
    let read = Promise.resolve();
    const subscriptions = [
      // Runs after each connection, when the subscriptions are active.
      pb.realtime.subscribe('PB_CONNECT', () => {
        const page = posts.getList(1, 50, { sort: '-updated', requestKey: null });
        read = page.then(({ items }) => setList(items), fail);
      }),
      // The response to a pending list request may be older than this change.
      posts.subscribe('*', ({ action, record }) => {
        const first = action === 'delete' ? [] : [record];
        void read.then(() => setList((before) => [...first, ...before.filter(({ id }) => id !== record.id)]));
      }),
    ];
    Promise.all(subscriptions).catch(fail);
    return () => subscriptions.forEach((subscription) => void subscription.then((stop) => stop()));
  }, []);
  return (
    <main>
      <form action={(data) => posts.create(data).then(() => setError(''), fail)}>
        <input name="title" aria-label="Title" required />
        <button>Add</button>
      </form>
      {error !== '' && <p role="alert">{error}</p>}
      <ul>
        {list.map((post) => (
          <li key={post.id}>{post.title}</li>
        ))}
      </ul>
    </main>
  );
}

const app = document.querySelector('#app');
if (app !== null) createRoot(app).render(<LiveList />);
