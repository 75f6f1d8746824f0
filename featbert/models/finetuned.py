"""The fine-tuned tagger: encoder, dropout, linear classifier on each word's vector.

Devlin et al. 2019, section 5.3: the representation of the first sub-token is the input to the
classifier; no CRF, no RNN.
"""

from __future__ import annotations

from torch import Tensor, nn

from featbert.encoders.encoder import Encoder, PieceBatch
from featbert.models.combination import full_precision


class FineTuneTagger(nn.Module):
    """The encoder with a classifier on top; every parameter is trained unless it is frozen.

    Attributes:
        num_layers: L of the encoder.
    """

    def __init__(self, encoder: Encoder, num_labels: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.num_layers = encoder.num_layers
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(encoder.hidden_size, num_labels)

    def forward(self, batch: PieceBatch) -> Tensor:
        """(W, C) logits, one row for each word in the batch's order of sentences and words."""
        states = self.encoder(batch)
        with full_precision(states):
            logits: Tensor = self.classifier(self.dropout(states.float()))
        return logits

    def parameter_depths(self) -> dict[str, int]:
        """Depth by parameter name: 0 embeddings, 1..L layers, L + 1 the classifier."""
        depths = {
            f"encoder.model.{name}": depth for name, depth in self.encoder.parameter_depths.items()
        }
        return {n: depths.get(n, self.num_layers + 1) for n, _ in self.named_parameters()}

    def freeze_below(self, depth: int) -> None:
        """Only parameters at `depth` and above are trained from now on."""
        depths = self.parameter_depths()
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(depths[name] >= depth)
        self.train(self.training)

    def train(self, mode: bool = True) -> FineTuneTagger:
        """As in torch, but what is frozen stays in eval mode: it gives the states of features."""
        super().train(mode)
        if mode:
            for module in self.encoder.modules():
                parameters = list(module.parameters())
                if parameters and not any(p.requires_grad for p in parameters):
                    module.eval()
        return self
