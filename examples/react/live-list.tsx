import PocketBase from 'pocketbase';
import { type SubmitEvent, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

interface Post {
  readonly id: string;
  readonly title: string;
}

const posts = new PocketBase(String(import.meta.env.VITE_CHANCERY_URL)).collection<Post>('posts');

const has = (list: readonly Post[], post: Post): boolean => list.some(({ id }) => id === post.id);
/** Replaces a post by its newer version, or adds it as the first. */
const withPost = (list: readonly Post[], post: Post): readonly Post[] =>
  has(list, post) ? list.map((one) => (one.id === post.id ? post : one)) : [post, ...list];
const without = (list: readonly Post[], id: string): readonly Post[] => list.filter((one) => one.id !== id);

function LiveList() {
  const [list, setList] = useState<readonly Post[]>([]);
  const [title, setTitle] = useState('');
  const [error, setError] = useState('');
  useEffect(() => {
    // Subscribes first, so that no change is missed while the list is read.
    const subscription = posts.subscribe('*', ({ action, record }) =>
      setList((before) => (action === 'delete' ? without(before, record.id) : withPost(before, record))),
    );
    subscription
      .then(() => posts.getList(1, 50, { sort: '-created' }))
      .then(({ items }) => setList((before) => [...before, ...items.filter((item) => !has(before, item))]))
      .catch((cause: unknown) => setError(String(cause)));
    return () => void subscription.then((unsubscribe) => unsubscribe()).catch(() => undefined);
  }, []);

  async function add(event: SubmitEvent) {
    event.preventDefault();
    // The id is ours: the record, its event and the row shown at once are the same row.
    const post = { id: newId(), title };
    setList((before) => withPost(before, post));
    setError('');
    setTitle('');
    await posts.create(post).catch((cause: unknown) => {
      setList((before) => without(before, post.id));
      setError(String(cause));
    });
  }

  return (
    <main>
      <h1>Posts</h1>
      <form onSubmit={(event) => void add(event)}>
        <input aria-label="Title" required value={title} onChange={({ target }) => setTitle(target.value)} />
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

/** 15 characters of a-z and 0-9, as ids of records have. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join('');
}

const app = document.querySelector('#app');
if (app !== null) createRoot(app).render(<LiveList />);
