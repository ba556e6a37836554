import { userClient } from '../../lib/chancery';
import { addPost, signIn, signOut } from './actions';

export default async function Write({ searchParams }: { searchParams: Promise<{ problem?: string }> }) {
  const { problem } = await searchParams;
  const { authStore } = await userClient();
  return (
    <>
      <h1>Write</h1>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {authStore.isValid ? (
        <>
          <form action={addPost}>
            <input name="title" aria-label="Title" required />
            <button>Add</button>
          </form>
          <form action={signOut}>
            <button>Sign out</button>
          </form>
        </>
      ) : (
        <form action={signIn}>
          <input name="email" type="email" aria-label="Email" required />
          <input name="password" type="password" aria-label="Password" required />
          <button>Sign in</button>
        </form>
      )}
      <a href="/">Posts</a>
    </>
  );
}
