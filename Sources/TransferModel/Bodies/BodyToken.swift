/// A body on its way, as those know it who decide about transfers: they hand it on, and never see a byte of it.
package protocol BodyToken: AnyObject, Sendable {}
