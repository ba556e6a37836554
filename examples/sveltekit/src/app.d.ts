import type PocketBase from 'pocketbase';

declare global {
  namespace App {
    interface Locals {
      client: PocketBase;
    }
  }
}
