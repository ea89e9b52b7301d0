/// What a task's traffic is for (URLRequest.NetworkServiceType): how the packets that it sends are marked.
package enum NetworkServiceType: String, Sendable, CaseIterable {
  case `default`, video, background, voice, responsiveData, avStreaming, responsiveAV, callSignaling

  /// The differentiated services code point of a type (RFC 2474), as RFC 4594 §2.3 has it for the class of service that the
  /// type belongs to. Apple's systems mark the same, where the network follows that document.
  package var codePoint: UInt8 {
    switch self {
    case .default: 0  // DF: standard
    case .video: 34  // AF41: multimedia conferencing
    case .background: 8  // CS1: low-priority data
    case .voice: 46  // EF: telephony
    case .responsiveData: 18  // AF21: low-latency data
    case .avStreaming: 26  // AF31: multimedia streaming
    case .responsiveAV: 32  // CS4: real-time interactive
    case .callSignaling: 40  // CS5: signaling
    }
  }
}
