// A client of Ferry, which fetches from HTTP origins with URLSession's sessions and tasks, over REST.
export {Client} from './client.js';
export * from './errors.js';
export {EventParser, EventStream} from './events.js';
export type {ServerSentEvent} from './events.js';
export * from './models.js';
export {ContentReply} from './transport.js';
export type {ClientOptions, Content} from './transport.js';
export {Webhook} from './webhooks.js';
export type {HeaderFields, WebhookReply} from './webhooks.js';
